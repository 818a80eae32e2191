// SPDX-License-Identifier: Apache-2.0

import Lastro

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif
#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

/// The files of one download: what has come so far, and what tells of it. For one download at a time, which its lock
/// sees to.
final class PartFile: Sendable {
  /// What an earlier download left.
  enum Left: Hashable {
    case nothing
    case part(DownloadRecord)
    /// All of it, under its name: only the state had not been removed.
    case whole(DownloadRecord)
  }

  /// The file that is to be.
  let path: String
  let left: Left
  /// Names the part file.
  let identity: FileStatus.Identity
  private let files: any FileLayer
  private let file: any OpenFile
  private let replaces: Bool

  private var part: String { path + ".part" }
  private var state: String { path + ".part.json" }
  private var newState: String { path + ".part.json.new" }

  /// Opens what an earlier download left, or begins anew.
  ///
  /// - Parameter source: what is downloaded; what was left of something else is not gone on with.
  /// - Throws: ``FileFailure``; the code is `EBUSY` where another download has the files.
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
    // What is gone on with has to outlast a loss of power, also where it was killed before it was sure of that.
    if case .part = left { try files.syncFolder(of: path) }
  }

  /// A device would be replaced for all programs, and what reads from a pipe would wait for ever.
  private static func checkMayBeFile(_ target: FileStatus?, _ path: String) throws(FileFailure) {
    guard let target, !target.isRegular, !target.isLink else { return }
    throw target.isFolder
      ? FileFailure(operation: "replace the folder", path: path, code: EISDIR)
      : FileFailure(operation: "replace", path: path, code: ENOTSUP)
  }

  private var isThere: FileFailure { FileFailure(operation: "make", path: path, code: EEXIST) }

  /// Opens what has its place already.
  func openPlaced() throws(FileFailure) -> any OpenFile { try files.open(path, .reading) }

  /// - Throws: where what has its place already must not be replaced.
  func checkReplaces() throws(FileFailure) { if !replaces { throw isThere } }

  /// Opens and locks the part file. Another download may just have given it its name, or removed it.
  private static func open(
    _ part: String, in files: any FileLayer
  ) throws(FileFailure) -> (file: any OpenFile, status: FileStatus) {
    for _ in 0..<16 {
      let file = try files.open(part, .keeping)
      guard try file.lock() else { break }
      let status = try file.status()
      guard let named = try files.status(of: part), named.identity == status.identity else { continue }
      if status.names <= 1 { return (file, status) }
      // What has a second name is a file that has its place already, and must not be cut.
      try files.remove(part)
    }
    throw FileFailure(operation: "lock", path: part, code: EBUSY)
  }

  /// The state that is there and can be read.
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

  /// Lets another download have the files.
  func release() { file.unlock() }

  func write(_ bytes: Data, at offset: Int64) throws(FileFailure) { try file.write(bytes, at: offset) }

  func cut(to length: Int64) throws(FileFailure) {
    if try file.status().length != length { try file.resize(to: length) }
  }

  /// Makes room for so many bytes in all. Where there is too little, the file is as before, and takes no more room.
  func reserve(_ length: Int64) throws(FileFailure) {
    let before = try file.status().length
    do throws(FileFailure) {
      try file.reserve(length)
    } catch {
      // Room that was made before the disk was full can be behind the file's end: its length need not have changed.
      try? file.resize(to: before)
      throw error
    }
  }

  func read(upTo count: Int, at offset: Int64) throws(FileFailure) -> Data { try file.read(upTo: count, at: offset) }

  func sync() throws(FileFailure) { try file.sync() }

  /// Writes the state. What it tells of was synced before: it may not be ahead of the disk.
  func save(_ record: DownloadRecord) throws(FileFailure) {
    let file = try files.open(newState, .replacing)
    try file.write(record.encoded(), at: 0)
    try file.sync()
    try files.rename(newState, to: state)
    // A state that comes back after a loss of power tells of less, which costs bytes and harms nothing.
    try files.syncFolder(of: path)
  }

  /// Removes the state, for certain: it must not tell of bytes that are written over from here on.
  func forget() throws(FileFailure) {
    guard try files.status(of: state) != nil else { return }
    try files.remove(state)
    try files.syncFolder(of: path)
  }

  /// Gives what was synced its name, and removes the state.
  func place() throws(FileFailure) {
    if replaces {
      try files.rename(part, to: path)
    } else if try files.link(part, as: path) {
      // The second name lasts before the first goes: a loss of power between them must not leave the file without one.
      try files.syncFolder(of: path)
      try files.remove(part)
    } else {
      // A file system without second names: a file that appears between the two steps is replaced.
      if try files.status(of: path) != nil { throw FileFailure(operation: "name", path: path, code: EEXIST) }
      try files.rename(part, to: path)
    }
    try files.syncFolder(of: path)
    try files.remove(state)
  }

  /// Removes the leftovers of a download that had come to its end.
  func tidy() throws(FileFailure) {
    try files.syncFolder(of: path)
    try files.remove(part)
    try files.remove(state)
  }

  /// Removes all that came so far.
  func discard() throws(FileFailure) {
    try files.remove(state)
    try files.remove(part)
    try files.remove(newState)
  }
}
