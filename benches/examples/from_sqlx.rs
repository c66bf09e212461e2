use std::time::Duration;

use sqlx::any::AnyPoolOptions;

async fn serve(url: &str) -> Result<(), sqlx::Error> {
    let pool = AnyPoolOptions::new()
        .max_connections(8)
        .acquire_timeout(Duration::from_secs(1))
        .idle_timeout(Duration::from_secs(10 * 60))
        .max_lifetime(Duration::from_secs(30 * 60))
        .test_before_acquire(true)
        .connect(url)
        .await?;

    let connection = pool.acquire().await?;
    drop(connection);
    if let Some(connection) = pool.try_acquire() {
        drop(connection.detach());
    }
    pool.close().await;
    Ok(())
}

#[tokio::main]
async fn main() {
    // No driver is installed here.
    assert!(serve("none://").await.is_err());
}
