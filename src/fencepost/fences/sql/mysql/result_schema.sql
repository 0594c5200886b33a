CREATE TABLE IF NOT EXISTS fencepost_result (
    name VARBINARY(512) PRIMARY KEY,
    token BIGINT NOT NULL,
    value LONGTEXT CHARACTER SET utf8mb4,
    expires_at DOUBLE,
    forget_at DOUBLE
) ENGINE = InnoDB
