// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials

/// The file system operations of transfers. Tests replace them to fill the disk, drop bytes that were not synced, and
/// end the process at any operation.
protocol FileLayer: Sendable {
  /// Opens a regular file. Does not follow a symbolic link in the last component of the path.
  func open(_ path: String, _ use: FileUse) throws(FileFailure) -> any OpenFile
  /// Returns the status of the path itself, which may be a symbolic link; `nil` if nothing is there.
  func status(of path: String) throws(FileFailure) -> FileStatus?
  /// Renames a file atomically; an existing file of that name is replaced.
  func rename(_ path: String, to other: String) throws(FileFailure)
  /// Gives a file a second name atomically. If a file of that name exists, the code is `EEXIST`.
  ///
  /// - Returns: false if the file system does not support hard links.
  func link(_ path: String, as other: String) throws(FileFailure) -> Bool
  /// Removes a name. A missing name is not an error.
  func remove(_ path: String) throws(FileFailure)
  /// Makes the names in the folder of a path survive a power loss.
  func syncFolder(of path: String) throws(FileFailure)
}

/// The purpose for which a file is opened.
enum FileUse: Hashable {
  /// Reading; the file must exist.
  case reading
  /// Reading and writing; the file is created if it is missing, and otherwise left unchanged.
  case keeping
  /// Writing; the file is created, accessible only to its owner, or truncated.
  case replacing
}

/// An open file, closed when the last reference is released. Calls are made on one thread at a time.
protocol OpenFile: AnyObject, Sendable {
  /// Returns the current status.
  func status() throws(FileFailure) -> FileStatus
  /// Takes an exclusive lock, which is held until the file is closed or unlocked. Returns false if another open file
  /// holds it.
  func lock() throws(FileFailure) -> Bool
  /// Releases the lock if it is held, even if a blocking call keeps the file open a little longer.
  func unlock()
  /// Writes all bytes, or throws.
  func write(_ bytes: Data, at offset: Int64) throws(FileFailure)
  /// Reads some bytes, at most `count`. Returns empty data at the end of the file.
  func read(upTo count: Int, at offset: Int64) throws(FileFailure) -> Data
  /// Truncates the file, or extends it with zeros.
  func resize(to length: Int64) throws(FileFailure)
  /// Reserves disk space for a total length, and sets the file's length to it.
  func reserve(_ length: Int64) throws(FileFailure)
  /// Returns once everything written survives a power loss.
  func sync() throws(FileFailure)
}

/// The status of a path or an open file.
struct FileStatus: Hashable, Sendable {
  /// The identity of a file within its file system, valid for as long as the file exists.
  struct Identity: Hashable, Sendable, Codable {
    var device: UInt64
    var number: UInt64
  }

  var identity: Identity
  var isRegular = true
  var isFolder = false
  var isLink = false
  var length: Int64
  /// The number of names (hard links).
  var names = 1
  /// The time of the last change, in nanoseconds since 1970.
  var modified: Int64 = 0
}
