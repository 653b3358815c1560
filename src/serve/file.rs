//! A file as the body of a response, read in pieces while the client reads.

use crate::error::MootError;
use crate::serve::refusal::Answer;
use axum::body::{Bytes, HttpBody};
use http_body::{Frame, SizeHint};
use std::io;
use std::path::Path;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::fs::File;
use tokio::io::{AsyncRead, ReadBuf};

/// Bytes of a piece.
const PIECE: usize = 64 << 10;

/// The bytes that a file had when it was opened. A record may grow while it is read.
pub(super) struct FileBody {
    file: File,
    left: u64,
}

impl FileBody {
    /// Opens `path`.
    ///
    /// # Errors
    /// A file that cannot be opened.
    pub(super) async fn open(path: &Path) -> Answer<Self> {
        let file = File::open(path).await.map_err(|e| MootError::io(path, "open", e))?;
        let left = file.metadata().await.map_err(|e| MootError::io(path, "read", e))?.len();
        Ok(Self { file, left })
    }
}

impl HttpBody for FileBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<io::Result<Frame<Bytes>>>> {
        if self.left == 0 {
            return Poll::Ready(None);
        }
        let most = usize::try_from(self.left).unwrap_or(PIECE).min(PIECE);
        let mut piece = vec![0; most];
        let mut buffer = ReadBuf::new(&mut piece);
        if let Err(error) = ready!(Pin::new(&mut self.file).poll_read(cx, &mut buffer)) {
            return Poll::Ready(Some(Err(error)));
        }
        let read = buffer.filled().len();
        if read == 0 {
            // The file was cut: the connection is closed before the length that was promised.
            return Poll::Ready(Some(Err(io::ErrorKind::UnexpectedEof.into())));
        }
        piece.truncate(read);
        self.left -= read as u64;
        Poll::Ready(Some(Ok(Frame::data(piece.into()))))
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.left)
    }
}
