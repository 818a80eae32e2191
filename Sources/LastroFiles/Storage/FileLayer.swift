// SPDX-License-Identifier: Apache-2.0

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What transfers need of a file system: a seam, so that tests can fill the disk, drop what was not synced, and end the
/// process at any operation.
protocol FileLayer: Sendable {
  /// Opens a regular file, never through a symbolic link in the last place of its path.
  func open(_ path: String, _ use: FileUse) throws(FileFailure) -> any OpenFile
  /// What the path names itself, which may be a symbolic link; `nil` where nothing is.
  func status(of path: String) throws(FileFailure) -> FileStatus?
  /// Gives a file another name, at once; a file of that name is replaced.
  func rename(_ path: String, to other: String) throws(FileFailure)
  /// Gives a file a second name, at once; where there is a file of that name the code is `EEXIST`.
  ///
  /// - Returns: false where the file system has no second names.
  func link(_ path: String, as other: String) throws(FileFailure) -> Bool
  /// Removes a name; one that is not there is no failure.
  func remove(_ path: String) throws(FileFailure)
  /// Makes the names in the folder of a path outlast a loss of power.
  func syncFolder(of path: String) throws(FileFailure)
}

/// What a file is opened for.
enum FileUse: Hashable {
  /// It has to be there.
  case reading
  /// Reading and writing; made where it is not there, and left as it is where it is.
  case keeping
  /// Writing; made, readable for its owner alone, or emptied.
  case replacing
}

/// An open file, closed when the last reference is gone. Each call is of one thread at a time.
protocol OpenFile: AnyObject, Sendable {
  /// What it is now.
  func status() throws(FileFailure) -> FileStatus
  /// Takes the lock that only one open file may have, until it is closed; false where another has it.
  func lock() throws(FileFailure) -> Bool
  /// Gives the lock back, where it has it, though a call that blocks may hold the file a little longer.
  func unlock()
  /// All bytes are written, or the call fails.
  func write(_ bytes: Data, at offset: Int64) throws(FileFailure)
  /// Some bytes, `count` at most; empty at the end.
  func read(upTo count: Int, at offset: Int64) throws(FileFailure) -> Data
  /// Cuts the file, or makes it longer by zeros.
  func resize(to length: Int64) throws(FileFailure)
  /// Makes room for so many bytes in all, and the file as long.
  func reserve(_ length: Int64) throws(FileFailure)
  /// Returns when what was written outlasts a loss of power.
  func sync() throws(FileFailure)
}

/// What a path or an open file is.
struct FileStatus: Hashable, Sendable {
  /// Names a file within its file system for as long as the file is there.
  struct Identity: Hashable, Sendable, Codable {
    var device: UInt64
    var number: UInt64
  }

  var identity: Identity
  var isRegular = true
  var isFolder = false
  var isLink = false
  var length: Int64
  /// How many names it has.
  var names = 1
  /// When it was last changed, in nanoseconds since 1970.
  var modified: Int64 = 0
}
