"""What may stand in a URL, in all of its parts; and passwords, as people forget to encode them."""

from urllib.parse import quote

# It stands nowhere else, so that a message that shows any part of it is found out.
SECRET = "zqxjkzqxjk"
LONG_NUMBER = "9" * 5000
_HOSTS = """
h h:1 127.0.0.1:1 [::1] [::1]:1 [fe80::1%eth0]:1 größe.example xn--gre-6ka8i.example a,b,c a:1,b:2,c:3 , : :1 h: h:0
h:65536 h:-1 h:+1 h:1e3 h:nan h:\u0663 ::1 [::1 ::1] [] [x]:1 [[::1]] h] h%00 h%0a h%zz h%ff . .. a..b 🔒 \u202e *
h#x h\\x h:1:2
"""
HOSTS = (*_HOSTS.split(), "", "a b", "a\nb", "a\r\nX: y", "a\0b", "\ud800", f"h:{LONG_NUMBER}", "x" * 300, "a." * 200)
_PATHS = "/ // /0 /1/2 /-1 /\u0663 /nan /../.. /%00 /%ff /%zz /name/0 /name/x /%2e%2e/a /a@b /{} /. /a//b"
PATHS = (*_PATHS.split(), "", "/a b", "/a\nb", "/\ud800", f"/{LONG_NUMBER}", "/" + "x" * 5000)
_OPTIONS = """
prefix db wait_replicas ca cert key tls node_timeout sentinel_username acl auth sentinel_password recipe sasl service dc
ns lock_delay behavior checks owner session_ttl_min schema listen connect_timeout host sslmode options keepalives nobody
"""
OPTIONS = (*_OPTIONS.split(), "")
_VALUES = """
0 1 -1 nan inf 1e400 yes no
\u0663 + % %zz %ff %00 🔒 a,b /nowhere digest:a:b digest world:anyone:x postgresql://h a=b [ ..
"""
VALUES = (*_VALUES.split(), "", "a b", "a\nb", "\0", "\ud800", LONG_NUMBER)
_SECRETS = """
S S@ @S S/ /S ?S S?a=b :S S:1 1/S 1?S 1?tls=S 1?a=S&b 1/S?db=x #S [S %S %ffS %00S 1,S:x 1&S 1?prefix=S 1?recipe=S
1?wait_replicas=S 1?connect_timeout=S 1?acl=S 1?behavior=S 1,b:2,c:3?node_timeout=S 1/..S/../ 1/a?S=S 1?a=b&a=S
1,S:1,S:1,S:1/
"""
SECRETS = tuple(each.replace("S", SECRET) for each in (*_SECRETS.split(), "S\n", "S\0", "S\ud800", f"1?{quote('S@')}"))
