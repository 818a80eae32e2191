// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro
import LastroSupport

/// The large bodies, one file each. A file gets its final name once it is complete and synced.
package struct BodyFiles {
  /// A step of writing a file, at which a test may inject a failure or end the process.
  package enum Step: String, CaseIterable, Sendable {
    case opened, written, synced, renamed, inserted
  }

  /// The minimum age, in seconds, before a file without a row is removed: another process may still be writing it.
  private static let patience: Int64 = 600

  let directory: String
  let random: RandomSource
  /// Returns an `errno` to make the step fail; 0 to let it succeed.
  let onStep: @Sendable (Step) -> Int32

  /// Writes a body to a file.
  ///
  /// - Returns: the file's name; `nil` if the disk is full or the write fails.
  func add(_ body: Data) -> String? {
    let name = DigestName.make(random)
    let temporary = "\(directory)/\(name).new"
    let file = uninterrupted { open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0o600) }
    guard file >= 0 else { return nil }
    let isWritten = onStep(.opened) == 0 && body.withUnsafeBytes { $0.writeAll(to: file) } && onStep(.written) == 0
    // Without the sync, a power cut can leave a file of the right length full of zeros.
    let isSynced = isWritten && uninterrupted { fdatasync(file) } == 0 && onStep(.synced) == 0
    // A close that is interrupted closes the file, too, and the sync has written all of it.
    let isClosed = close(file) == 0 || errno == EINTR
    guard isClosed, isSynced, rename(temporary, "\(directory)/\(name)") == 0, onStep(.renamed) == 0 else {
      unlink(temporary)
      unlink("\(directory)/\(name)")
      return nil
    }
    return name
  }

  /// Reads a body of a known length. Returns `nil` if the file is missing or has another length.
  func body(of name: String, length: Int64) -> Data? {
    guard DigestName.isOne(name) else { return nil }
    let file = uninterrupted { open("\(directory)/\(name)", O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
    guard file >= 0 else { return nil }
    defer { close(file) }
    var status = stat()
    guard fstat(file, &status) == 0, status.st_mode & S_IFMT == S_IFREG, Int64(status.st_size) == length else {
      return nil
    }
    var body = Data(count: Int(length))
    let count = body.withUnsafeMutableBytes { buffer in
      var count = 0
      while count < buffer.count {
        let got = read(file, buffer.baseAddress?.advanced(by: count), buffer.count - count)
        if got < 0, errno == EINTR { continue }
        if got <= 0 { break }
        count += got
      }
      return count
    }
    return count == body.count ? body : nil
  }

  func remove(_ name: String) { if DigestName.isOne(name) { unlink("\(directory)/\(name)") } }

  /// The names of all files; an unfinished file has a suffix.
  private var names: [String] {
    (try? FileManager.default.contentsOfDirectory(atPath: directory)) ?? []
  }

  /// Removes old files that no row names.
  func sweep(keeping kept: Set<String>, now: Int64) {
    for name in names where !kept.contains(name) {
      var status = stat()
      guard lstat("\(directory)/\(name)", &status) == 0, Int64(status.st_mtim.tv_sec) < now - Self.patience else {
        continue
      }
      unlink("\(directory)/\(name)")
    }
  }

  func removeAll() { for name in names { unlink("\(directory)/\(name)") } }
}

/// The names of body files: 32 hexadecimal digits, so that no name can lead out of the folder.
enum DigestName {
  static func make(_ random: RandomSource) -> String {
    MessageDigest((0..<2).flatMap { _ in withUnsafeBytes(of: random.next(), Array.init) }).hexadecimal
  }

  static func isOne(_ name: String) -> Bool {
    name.utf8.count == 32 && name.utf8.allSatisfy { (0x30...0x39).contains($0) || (0x61...0x66).contains($0) }
  }
}
