// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LastroSupport
import LastroWire

/// A part of a regular file, which is read in blocks.
struct FileSlice: Sendable {
  /// The maximum number of bytes of a block, and therefore of memory for one reader.
  static let blockBytes = 128 * 1024

  let path: String
  /// The noun for the file in errors.
  let noun: String
  let offset: Int64
  let length: Int64

  /// Checks that the slice is within the file.
  ///
  /// - Parameters:
  ///   - path: the path of a regular file.
  ///   - offset: the first byte, from 0.
  ///   - length: the number of bytes; `nil` for all bytes from the offset to the file's present end.
  ///   - noun: the noun for the file in errors, such as "the body's file".
  /// - Throws: stage `request`, code `invalid_body`.
  init(of path: String, offset: Int64, length: Int64?, noun: String) throws(TransportError) {
    let size = try Self.size(of: path, noun)
    let name = "\(noun) \(path.escapedForDisplay)"
    for (value, part) in [(offset, "offset"), (length ?? 0, "length")] where value < 0 {
      throw .refused(
        .invalidBody, "the slice of \(name) has the \(part) \(value), below 0", hint: "give a number of bytes")
    }
    guard offset <= size, length ?? 0 <= size - offset else {
      let slice = length.map { "the slice of \($0.counted("byte")) at offset \(offset)" } ?? "the offset \(offset)"
      throw .refused(
        .invalidBody, "\(slice) is beyond the end of \(name), which has \(size.counted("byte"))",
        hint: "keep offset and length within the file, or leave the length out to take the rest of it")
    }
    self.path = path
    self.noun = noun
    self.offset = offset
    self.length = length ?? size - offset
  }

  /// Creates the slice of a whole file whose length was determined before. The file is checked when it is opened.
  init(ofFile path: String, length: Int64, noun: String) {
    self.path = path
    self.noun = noun
    offset = 0
    self.length = length
  }

  /// Returns the size of a regular file that this process may read.
  ///
  /// - Throws: stage `request`, code `invalid_body`, if the file does not exist, is not a regular file or cannot be
  ///   read.
  static func size(of path: String, _ noun: String) throws(TransportError) -> Int64 {
    guard !path.utf8.contains(0) else {
      throw .refused(.invalidBody, "\(noun) has a name with a NUL in it", hint: "remove it")
    }
    var status = stat()
    guard stat(path, &status) == 0, access(path, R_OK) == 0 else { throw .unreadable(noun, path, errno) }
    guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular(noun, path) }
    return Int64(status.st_size)
  }

  /// The slice as the source of a body, which opens the file each time the body is sent.
  var source: RequestBody.Source {
    .stream(length: length, isReplayable: true) {
      var opened: Reader?
      return {
        let reader = try opened ?? Reader(self)
        opened = reader
        return try reader.next()
      }
    }
  }

  fileprivate func tooShort(size: Int64) -> TransportError {
    .refused(
      .invalidBody,
      "\(noun) \(path.escapedForDisplay) became shorter: it has \(size.counted("byte")), and the slice of "
        + "\(length.counted("byte")) at offset \(offset) goes beyond them",
      hint: "do not change the file until it was read for the last time, which a retry may do")
  }
}

extension RequestBody.Source {
  /// Returns the source of a whole file whose length was determined before. Bytes behind that length are not read; a
  /// file that is shorter, missing or no regular file any more fails when it is read, with code `invalid_body`.
  ///
  /// - Parameters:
  ///   - path: the path of the file.
  ///   - length: the length of the file when it was determined.
  ///   - noun: the noun for the file in errors, such as "the form's file".
  package static func slice(ofFile path: String, length: Int64, noun: String) -> Self {
    FileSlice(ofFile: path, length: length, noun: noun).source
  }
}

extension FileSlice {
  /// An open slice. It must not be used by several threads at the same time.
  final class Reader {
    private let slice: FileSlice
    private let descriptor: Int32
    /// The number of bytes that were read.
    private var done: Int64 = 0

    /// Opens the file.
    ///
    /// - Throws: stage `request`, code `invalid_body`, if the file cannot be opened, is no longer a regular file, or
    ///   became shorter than the slice's end.
    init(_ slice: FileSlice) throws(TransportError) {
      // The file may have been replaced by a pipe without a writer, and opening that must not block.
      let descriptor = uninterrupted { open(slice.path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }
      guard descriptor >= 0 else { throw .unreadable(slice.noun, slice.path, errno) }
      self.descriptor = descriptor
      self.slice = slice
      var status = stat()
      guard fstat(descriptor, &status) == 0 else { throw .unreadable(slice.noun, slice.path, errno) }
      guard status.st_mode & S_IFMT == S_IFREG else { throw .notRegular(slice.noun, slice.path) }
      let size = Int64(status.st_size)
      guard slice.offset + slice.length <= size else { throw slice.tooShort(size: size) }
    }

    deinit { close(descriptor) }

    /// Returns the next block; `nil` at the end of the slice.
    func next() throws(TransportError) -> Data? {
      let wanted = Int(min(Int64(FileSlice.blockBytes), slice.length - done))
      guard wanted > 0 else { return nil }
      let start = off_t(slice.offset + done), descriptor = descriptor
      var block = Data(count: wanted)
      var code: Int32 = 0
      let count = block.withUnsafeMutableBytes { (space: UnsafeMutableRawBufferPointer) -> Int in
        while true {
          let count = pread(descriptor, space.baseAddress, space.count, start)
          if count >= 0 { return count }
          code = errno
          if code != EINTR { return count }
        }
      }
      guard count >= 0 else { throw .unreadable(slice.noun, slice.path, code) }
      guard count > 0 else { throw slice.tooShort(size: slice.offset + done) }
      done += Int64(count)
      // Copied if it is not full, because a slice would have the memory of the whole block.
      return count == wanted ? block : Data(block.prefix(count))
    }
  }
}

extension TransportError {
  static func unreadable(_ noun: String, _ path: String, _ code: Int32) -> Self {
    .refused(
      .invalidBody, "cannot read \(noun) \(path.escapedForDisplay): \(String(cString: strerror(code)))",
      hint: "check the path, and that this process may read it")
  }

  fileprivate static func notRegular(_ noun: String, _ path: String) -> Self {
    .refused(
      .invalidBody, "\(noun) \(path.escapedForDisplay) is not a regular file",
      hint: "give a regular file; a pipe or a device can be sent as a stream")
  }
}
