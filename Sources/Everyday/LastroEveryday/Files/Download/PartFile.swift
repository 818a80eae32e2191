// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import Lastro

/// The files of one download: the bytes received so far, and the state file that describes them. A lock ensures that
/// only one download at a time uses them.
final class PartFile: Sendable {
  /// The leftovers of an earlier download.
  enum Left: Hashable {
    case nothing
    case part(DownloadRecord)
    /// The complete file under its final name: only the state file had not been removed.
    case whole(DownloadRecord)
  }

  /// The path of the final file.
  let path: String
  let left: Left
  /// The identity of the part file.
  let identity: FileStatus.Identity
  private let files: any FileLayer
  private let file: any OpenFile
  private let replaces: Bool

  private var part: String { path + ".part" }
  private var state: String { path + ".part.json" }
  private var newState: String { path + ".part.json.new" }

  /// Opens the part file of an earlier download, or creates a new one.
  ///
  /// - Parameter source: the identity of the downloaded resource; leftovers of another resource are ignored.
  /// - Throws: ``FileFailure``; the code is `EBUSY` if another download holds the files.
  init(_ path: String, source: String, replaces: Bool, in files: any FileLayer) throws(FileFailure) {
    try Self.checkMayBeFile(files.status(of: path), path)
    let opened = try Self.open(path + ".part", in: files)
    self.path = path
    self.files = files
    self.replaces = replaces
    file = opened.file
    identity = opened.status.identity
    let record = try Self.record(path + ".part.json", in: files).flatMap { $0.source == source ? $0 : nil }
    let target = try files.status(of: path)
    try Self.checkMayBeFile(target, path)
    if let record, record.isVerified, let target, target.identity == record.file, target.isRegular,
      target.length == record.representation.total
    {
      left = .whole(record)
    } else if let record, record.file == identity, opened.status.length >= record.done.map(\.to).max() ?? 0 {
      left = .part(record)
    } else {
      left = .nothing
    }
    if case .whole = left { return }
    guard target == nil || replaces else {
      if opened.status.length == 0 { try files.remove(path + ".part") }
      throw isThere
    }
    // A resumed part file must survive a power loss, even if the earlier process was killed before it synced the
    // folder.
    if case .part = left { try files.syncFolder(of: path) }
  }

  /// Throws unless the path is free or names a regular file or a link. Replacing a device would affect all programs,
  /// and a reader of a pipe would wait forever.
  private static func checkMayBeFile(_ target: FileStatus?, _ path: String) throws(FileFailure) {
    guard let target, !target.isRegular, !target.isLink else { return }
    throw target.isFolder
      ? FileFailure(operation: "replace the folder", path: path, code: EISDIR)
      : FileFailure(operation: "replace", path: path, code: ENOTSUP)
  }

  private var isThere: FileFailure { FileFailure(operation: "make", path: path, code: EEXIST) }

  /// Opens the file that already has its final name.
  func openPlaced() throws(FileFailure) -> any OpenFile { try files.open(path, .reading) }

  /// - Throws: `FileFailure` if the existing file must not be replaced.
  func checkReplaces() throws(FileFailure) { if !replaces { throw isThere } }

  /// Opens and locks the part file. Tries again if another download has renamed or removed it meanwhile.
  private static func open(
    _ part: String, in files: any FileLayer
  ) throws(FileFailure) -> (file: any OpenFile, status: FileStatus) {
    for _ in 0..<16 {
      let file = try files.open(part, .keeping)
      guard try file.lock() else { break }
      let status = try file.status()
      guard let named = try files.status(of: part), named.identity == status.identity else { continue }
      if status.names <= 1 { return (file, status) }
      // A part file with a second name is a finished file, which must not be truncated.
      try files.remove(part)
    }
    throw FileFailure(operation: "lock", path: part, code: EBUSY)
  }

  /// Returns the record of the state file; `nil` if there is none, or it is unreadable.
  private static func record(_ path: String, in files: any FileLayer) throws(FileFailure) -> DownloadRecord? {
    guard try files.status(of: path) != nil else { return nil }
    let file = try files.open(path, .reading)
    var bytes = Data()
    while bytes.count <= DownloadRecord.maximumBytes {
      let more = try file.read(upTo: 65_536, at: Int64(bytes.count))
      if more.isEmpty { break }
      bytes += more
    }
    return DownloadRecord(bytes)
  }

  /// Unlocks the files for another download.
  func release() { file.unlock() }

  func write(_ bytes: Data, at offset: Int64) throws(FileFailure) { try file.write(bytes, at: offset) }

  func cut(to length: Int64) throws(FileFailure) {
    if try file.status().length != length { try file.resize(to: length) }
  }

  /// Reserves disk space for a total length. If there is too little, the file keeps its former length and space.
  func reserve(_ length: Int64) throws(FileFailure) {
    let before = try file.status().length
    do throws(FileFailure) {
      try file.reserve(length)
    } catch {
      // Space reserved before the disk was full may lie beyond the end of the file, so truncate even if the length is
      // unchanged.
      try? file.resize(to: before)
      throw error
    }
  }

  func read(upTo count: Int, at offset: Int64) throws(FileFailure) -> Data { try file.read(upTo: count, at: offset) }

  func sync() throws(FileFailure) { try file.sync() }

  /// Writes the state file. The bytes it describes must have been synced before, because it may not claim more than is
  /// on disk.
  func save(_ record: DownloadRecord) throws(FileFailure) {
    let file = try files.open(newState, .replacing)
    try file.write(record.encoded(), at: 0)
    try file.sync()
    try files.rename(newState, to: state)
    // A power loss may bring back an older state, which describes fewer bytes: that costs a repeated transfer, no more.
    try files.syncFolder(of: path)
  }

  /// Removes the state file durably: it must not describe bytes that are overwritten from now on.
  func forget() throws(FileFailure) {
    guard try files.status(of: state) != nil else { return }
    try files.remove(state)
    try files.syncFolder(of: path)
  }

  /// Gives the synced file its final name, and removes the state file.
  func place() throws(FileFailure) {
    if replaces {
      try files.rename(part, to: path)
    } else if try files.link(part, as: path) {
      // Make the second name durable before removing the first: a power loss in between must not leave the file without
      // a name.
      try files.syncFolder(of: path)
      try files.remove(part)
    } else {
      // The file system has no hard links: a file that appears between these two steps is replaced.
      if try files.status(of: path) != nil { throw FileFailure(operation: "name", path: path, code: EEXIST) }
      try files.rename(part, to: path)
    }
    try files.syncFolder(of: path)
    try files.remove(state)
  }

  /// Removes the leftovers of a completed download.
  func tidy() throws(FileFailure) {
    try files.syncFolder(of: path)
    try files.remove(part)
    try files.remove(state)
  }

  /// Removes everything received so far.
  func discard() throws(FileFailure) {
    try files.remove(state)
    try files.remove(part)
    try files.remove(newState)
  }
}
