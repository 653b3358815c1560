//! Connections: accepted, bounded in number and in the time that their clients may take, and drained at the end.

use axum::Router;
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::timeout;
use tokio_io_timeout::TimeoutStream;

/// Connections at once; further ones are closed.
const CONNECTIONS: usize = 1024;
/// Time for a client to send the headers of its next request.
const HEADERS: Duration = Duration::from_secs(20);
/// Bytes of headers.
const HEADER_BYTES: usize = 64 << 10;
/// Headers of a request.
const HEADER_COUNT: usize = 100;
/// Time in which a client reads something of what it is sent.
const READS: Duration = Duration::from_secs(60);
/// Time for requests in flight after the signal to shut down.
const DRAIN: Duration = Duration::from_secs(30);
/// Interval at which the end is looked for.
const TICK: Duration = Duration::from_millis(100);

/// Serves `app` until `stop` is set; then requests in flight have [`DRAIN`] to end, and `cancel` ends the others.
pub(super) async fn serve(listener: TcpListener, app: Router, stop: Arc<AtomicBool>, cancel: impl FnOnce()) {
    let (draining, connections) = (GracefulShutdown::new(), Arc::new(Semaphore::new(CONNECTIONS)));
    while !stop.load(Ordering::Relaxed) {
        // With a limit, since the flag wakes no task. `accept` loses no connection when it is given up.
        let stream = match timeout(TICK, listener.accept()).await {
            Ok(Ok((stream, _))) => stream,
            // No file is left for it: those that are open end first.
            Ok(Err(_)) => {
                tokio::time::sleep(TICK).await;
                continue;
            }
            Err(_) => continue,
        };
        // Over the limit a connection is closed at once.
        let Ok(permit) = connections.clone().try_acquire_owned() else { continue };
        // Events are small, and must not wait for the acknowledgement of earlier ones.
        let _ = stream.set_nodelay(true);
        let mut stream = TimeoutStream::new(stream);
        stream.set_write_timeout(Some(READS));
        // The stream is in a box because hyper takes an `Unpin` one alone, which `TimeoutStream` is not.
        let connection = http1::Builder::new()
            .timer(TokioTimer::new())
            .header_read_timeout(HEADERS)
            .max_buf_size(HEADER_BYTES)
            .max_headers(HEADER_COUNT)
            .serve_connection(TokioIo::new(Box::pin(stream)), TowerToHyperService::new(app.clone()));
        let connection = draining.watch(connection);
        tokio::spawn(async move {
            // The client does not speak HTTP, or no client is left: the error has no reader.
            let _ = connection.await;
            drop(permit);
        });
    }
    // New connections are refused from here on.
    drop(listener);
    let mut ended = std::pin::pin!(draining.shutdown());
    if timeout(DRAIN, &mut ended).await.is_err() {
        cancel();
        // Cancelled requests get as much time again to send their last message.
        let _ = timeout(DRAIN, ended).await;
    }
}
