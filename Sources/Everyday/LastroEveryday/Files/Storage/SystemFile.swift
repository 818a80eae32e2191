// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LastroSupport

/// A file of the operating system.
final class SystemFile: OpenFile {
  private let descriptor: Int32
  private let path: String

  init(_ descriptor: Int32, _ path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  private func failure(_ operation: String, _ code: Int32 = errno) -> FileFailure {
    FileFailure(operation: operation, path: path, code: code)
  }

  func status() throws(FileFailure) -> FileStatus {
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw failure("look at") }
    return FileStatus(status)
  }

  func lock() throws(FileFailure) -> Bool {
    let code = uninterrupted { flock(descriptor, LOCK_EX | LOCK_NB) }
    guard code == 0 || errno == EWOULDBLOCK else { throw failure("lock") }
    return code == 0
  }

  func unlock() { flock(descriptor, LOCK_UN) }

  func write(_ bytes: Data, at offset: Int64) throws(FileFailure) {
    let code = bytes.withUnsafeBytes { bytes -> Int32 in
      var done = 0
      while done < bytes.count {
        let part = UnsafeRawBufferPointer(rebasing: bytes[done...])
        let count = pwrite(descriptor, part.baseAddress, part.count, off_t(offset) + off_t(done))
        if count < 0, errno == EINTR { continue }
        // A write of zero bytes means that there is no room.
        if count <= 0 { return count < 0 ? errno : ENOSPC }
        done += count
      }
      return 0
    }
    guard code == 0 else { throw failure("write to", code) }
  }

  func read(upTo count: Int, at offset: Int64) throws(FileFailure) -> Data {
    var data = Data(count: count)
    var code: Int32 = 0
    let taken = data.withUnsafeMutableBytes { space in
      while true {
        let taken = pread(descriptor, space.baseAddress, space.count, off_t(offset))
        if taken < 0, errno == EINTR { continue }
        if taken < 0 { code = errno }
        return taken
      }
    }
    guard taken >= 0 else { throw failure("read", code) }
    return data.prefix(taken)
  }

  func resize(to length: Int64) throws(FileFailure) {
    let code = uninterrupted { ftruncate(descriptor, off_t(length)) }
    guard code == 0 else { throw failure("resize") }
  }

  func reserve(_ length: Int64) throws(FileFailure) {
    guard length > 0 else { return try resize(to: 0) }
    while case let code = posix_fallocate(descriptor, 0, off_t(length)), code != 0 {
      if code == EINTR { continue }
      guard code == EINVAL || code == EOPNOTSUPP else { throw failure("make room in", code) }
      break
    }
    try resize(to: length)
  }

  func sync() throws(FileFailure) {
    // Do not retry a failed sync: the kernel may have dropped the data that it could not write. An interrupted sync
    // did not report a loss.
    let code = uninterrupted { fdatasync(descriptor) }
    guard code == 0 else { throw failure("sync") }
  }
}
