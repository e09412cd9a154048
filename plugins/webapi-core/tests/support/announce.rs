//! A tracker that answers each path as a test says.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;

/// Serves `/announce/working`, which has no peers, and any other path, which it refuses for the reason that its last part says, with
/// blanks for dashes. Gives what stands before that part.
pub fn serve() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
    let address = listener.local_addr().expect("an address");
    // Ends with the process.
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let Ok(mut stream) = stream else { continue };
            let mut request = [0; 4096];
            let Ok(length) = stream.read(&mut request) else {
                continue;
            };
            let request = String::from_utf8_lossy(&request[..length]).into_owned();
            let path = request.split([' ', '?']).nth(1).unwrap_or_default();
            let reason = path.rsplit('/').next().unwrap_or_default().replace('-', " ");
            let body = match reason.as_str() {
                "working" => "d8:intervali1800e5:peers0:e".to_owned(),
                reason => format!("d14:failure reason{}:{reason}e", reason.len()),
            };
            let length = body.len();
            let head = format!("HTTP/1.1 200 OK\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n");
            let _ = stream.write_all((head + &body).as_bytes());
        }
    });
    format!("http://{address}/announce")
}
