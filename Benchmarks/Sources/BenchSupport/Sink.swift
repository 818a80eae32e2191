// SPDX-License-Identifier: Apache-2.0

import Glibc

/// A destination for the chunks of a download. It counts the bytes, and writes them to a file if one is given.
public final class Sink {
  /// The number of bytes so far.
  public private(set) var bytes = 0
  private let descriptor: Int32?

  /// Makes a sink, and truncates the file.
  public init(file: String?) throws(BenchFailure) {
    descriptor = file.map { Glibc.open($0, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0o644) }
    if let descriptor, descriptor < 0 { throw .failed("\(file ?? ""): \(String(cString: strerror(errno)))") }
  }

  deinit {
    if let descriptor, descriptor >= 0 { close(descriptor) }
  }

  /// Counts a chunk and writes it with a plain `write`. The data goes to the page cache, so no thread waits for a disk.
  public func write(_ chunk: UnsafeRawBufferPointer) throws(BenchFailure) {
    bytes += chunk.count
    guard let descriptor else { return }
    var rest = chunk[...]
    while !rest.isEmpty {
      let written = Glibc.write(descriptor, UnsafeRawBufferPointer(rebasing: rest).baseAddress, rest.count)
      guard written > 0 || errno == EINTR else { throw .failed("write: \(String(cString: strerror(errno)))") }
      rest = rest.dropFirst(max(0, written))
    }
  }
}
