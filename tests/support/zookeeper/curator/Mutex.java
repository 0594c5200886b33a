// Curator's own mutex on one path, told what to do line by line.

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.RetryOneTime;

public class Mutex {
    public static void main(String[] arguments) throws Exception {
        try (CuratorFramework client =
                CuratorFrameworkFactory.newClient(arguments[0], 20000, 20000, new RetryOneTime(100))) {
            client.start();
            InterProcessMutex mutex = new InterProcessMutex(client, arguments[1]);
            BufferedReader orders = new BufferedReader(new InputStreamReader(System.in));
            System.out.println("ready");
            for (String order = orders.readLine(); order != null; order = orders.readLine()) {
                switch (order) {
                    case "try" -> System.out.println(mutex.acquire(0, TimeUnit.SECONDS));
                    case "wait" -> System.out.println(mutex.acquire(20, TimeUnit.SECONDS));
                    case "release" -> {
                        mutex.release();
                        System.out.println("released");
                    }
                }
            }
        }
    }
}
