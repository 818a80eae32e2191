// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import LastroSupport
import TestSupport
import Testing

@testable import LastroEveryday

@Suite("Simulated files")
struct SimulatedFilesTests {
  @Test("Synced bytes survive a power loss, others may not, and a kill loses nothing")
  func durability() throws {
    var lost = 0
    for seed in 0..<50 as Range<UInt64> {
      let files = SimulatedFiles(seed: seed)
      let file = try files.open("/a", .keeping)
      try file.write(Data("one".utf8), at: 0)
      try file.sync()
      try files.syncFolder(of: "/a")
      try file.write(Data("two".utf8), at: 3)
      files.restart(afterLossOfPower: false)
      #expect(files.content("/a") == Data("onetwo".utf8))
      files.restart(afterLossOfPower: true)
      #expect(files.content("/a")?.prefix(3) == Data("one".utf8))
      if files.content("/a") != Data("onetwo".utf8) { lost += 1 }
    }
    #expect(lost > 5 && lost < 45)
  }

  @Test("A name that was not synced may be lost, and after a kill no operation has an effect")
  func names() throws {
    var kept = 0
    for seed in 0..<50 as Range<UInt64> {
      let files = SimulatedFiles(seed: seed)
      try files.open("/a", .keeping).sync()
      files.restart(afterLossOfPower: true)
      kept += files.content("/a") == nil ? 0 : 1
    }
    #expect(kept > 5 && kept < 45)
    let files = SimulatedFiles(seed: 1, killedAt: 2)
    let file = try files.open("/a", .keeping)
    #expect(throws: FileFailure.self) { try file.write(Data("x".utf8), at: 0) }
    #expect(throws: FileFailure.self) { try files.remove("/a") }
    #expect(files.content("/a") != nil)
  }
}

/// Files in memory that lose unsynced changes, as a disk does that loses power, and that fail from any operation on, as
/// for a process that is killed.
final class SimulatedFiles: FileLayer {
  enum Change {
    case write(Data, at: Int)
    case resize(Int)

    func apply(to bytes: inout Data) {
      switch self {
      case .resize(let length):
        bytes = bytes.prefix(length)
        if bytes.count < length { bytes += Data(count: length - bytes.count) }
      case .write(let data, let offset):
        if bytes.count < offset { bytes += Data(count: offset - bytes.count) }
        bytes.replaceSubrange(offset..<min(bytes.count, offset + data.count), with: data)
      }
    }
  }

  enum NameChange {
    case link(String, Int)
    case unlink(String)
    /// A rename takes effect in one step, as in a journaling file system.
    case rename(String, String, Int)

    func apply(to names: inout [String: Int]) {
      switch self {
      case .link(let name, let number): names[name] = number
      case .unlink(let name): names[name] = nil
      case .rename(let old, let new, let number):
        names[old] = nil
        names[new] = number
      }
    }
  }

  struct Contents {
    var now = Data()
    var durable = Data()
    var pending: [Change] = []
    var isLocked = false
  }

  struct State {
    var contents: [Int: Contents] = [:]
    var names: [String: Int] = [:]
    var durableNames: [String: Int] = [:]
    var pendingNames: [NameChange] = []
    var links: Set<String> = []
    var operations = 0
    var killedAt: Int?
    /// The number of the current process. Files that an earlier process opened are closed.
    var process = 0
    var isDead = false
    var capacity = Int.max
    var generator: SeededGenerator
    var log: [String] = []
    /// Files that are kept open, as by a thread that is about to release them.
    var held: [SimulatedFile]?

    var used: Int { contents.values.reduce(0) { $0 + $1.now.count } }
    func names(of number: Int) -> Int { names.values.filter { $0 == number }.count }
  }

  let state: Lock<State>

  init(seed: UInt64 = 0, killedAt: Int? = nil, capacity: Int = .max) {
    var initial = State(generator: SeededGenerator(seed: seed))
    initial.killedAt = killedAt
    initial.capacity = capacity
    state = Lock(initial)
  }

  func content(_ path: String) -> Data? {
    state.withLock { state in state.names[path].map { state.contents[$0]?.now ?? Data() } }
  }

  func put(_ data: Data, at path: String) {
    state.withLock { state in
      let number = state.contents.count + 1
      state.contents[number] = Contents(now: data, durable: data)
      state.names[path] = number
      state.durableNames[path] = number
    }
  }

  /// Starts or stops keeping all files open that are opened from now on.
  func holdOpened(_ holds: Bool) {
    // The files are released outside the lock, because their deinitializers acquire it.
    let before = state.withLock { state in
      defer { state.held = holds ? [] : nil }
      return state.held
    }
    _ = before
  }

  var operations: Int { state.withLock { $0.operations } }

  /// Ends the process and starts another. After a loss of power, each piece that was not synced may be present or
  /// missing.
  func restart(afterLossOfPower: Bool, killedAt: Int? = nil) {
    state.withLock { state in
      state.process += 1
      (state.isDead, state.killedAt, state.operations) = (false, killedAt, 0)
      for number in state.contents.keys { state.contents[number]?.isLocked = false }
      guard afterLossOfPower else { return }
      for change in state.pendingNames where Bool.random(using: &state.generator) {
        change.apply(to: &state.durableNames)
      }
      (state.names, state.pendingNames) = (state.durableNames, [])
      for number in state.contents.keys.sorted() {
        guard var contents = state.contents[number] else { continue }
        for change in contents.pending where Bool.random(using: &state.generator) {
          change.apply(to: &contents.durable)
        }
        contents.now = contents.durable
        contents.pending = []
        state.contents[number] = contents
      }
    }
  }

  /// Performs an operation, unless the process was killed. The operation at which it is killed may or may not take
  /// effect.
  func perform<Value>(
    _ name: String, _ path: String, process: Int? = nil, _ body: (inout State) throws(FileFailure) -> Value
  ) throws(FileFailure) -> Value {
    try state.withLock { state throws(FileFailure) in
      let killed = FileFailure(operation: name, path: path, code: EIO)
      guard !state.isDead, process == nil || process == state.process else { throw killed }
      state.operations += 1
      state.log.append("\(name) \(path)")
      guard state.operations != state.killedAt else {
        state.isDead = true
        if Bool.random(using: &state.generator) { _ = try body(&state) }
        throw killed
      }
      return try body(&state)
    }
  }

  func open(_ path: String, _ use: FileUse) throws(FileFailure) -> any OpenFile {
    try perform("open", path) { state throws(FileFailure) in
      if state.links.contains(path) { throw FileFailure(operation: "open", path: path, code: ELOOP) }
      if let number = state.names[path] {
        if use == .replacing {
          state.contents[number]?.now = Data()
          state.contents[number]?.pending.append(.resize(0))
        }
        return opened(number, path, &state)
      }
      guard use != .reading else { throw FileFailure(operation: "open", path: path, code: ENOENT) }
      let number = state.contents.count + 1
      state.contents[number] = Contents()
      state.names[path] = number
      state.pendingNames.append(.link(path, number))
      return opened(number, path, &state)
    }
  }

  private func opened(_ number: Int, _ path: String, _ state: inout State) -> SimulatedFile {
    let file = SimulatedFile(self, number, path, state.process)
    state.held?.append(file)
    return file
  }

  func status(of path: String) throws(FileFailure) -> FileStatus? {
    try perform("status", path) { state in state.names[path].map { Self.status(state, $0) } }
  }

  static func status(_ state: State, _ number: Int) -> FileStatus {
    FileStatus(
      identity: .init(device: 1, number: UInt64(number)), length: Int64(state.contents[number]?.now.count ?? 0),
      names: state.names(of: number))
  }

  func rename(_ path: String, to other: String) throws(FileFailure) {
    try perform("rename", other) { state throws(FileFailure) in
      guard let number = state.names[path] else { throw FileFailure(operation: "name", path: path, code: ENOENT) }
      Self.change(&state, .rename(path, other, number))
    }
  }

  func link(_ path: String, as other: String) throws(FileFailure) -> Bool {
    try perform("link", other) { state throws(FileFailure) in
      guard state.names[other] == nil else { throw FileFailure(operation: "name", path: other, code: EEXIST) }
      guard let number = state.names[path] else { throw FileFailure(operation: "name", path: path, code: ENOENT) }
      Self.change(&state, .link(other, number))
      return true
    }
  }

  private static func change(_ state: inout State, _ change: NameChange) {
    change.apply(to: &state.names)
    state.pendingNames.append(change)
  }

  func remove(_ path: String) throws(FileFailure) {
    try perform("remove", path) { state in Self.change(&state, .unlink(path)) }
  }

  func syncFolder(of path: String) throws(FileFailure) {
    try perform("sync folder", path) { state in
      for change in state.pendingNames { change.apply(to: &state.durableNames) }
      state.pendingNames = []
    }
  }
}

final class SimulatedFile: OpenFile {
  private let files: SimulatedFiles
  private let number: Int
  private let path: String
  private let process: Int
  private let holdsLock = Lock(false)

  init(_ files: SimulatedFiles, _ number: Int, _ path: String, _ process: Int) {
    (self.files, self.number, self.path, self.process) = (files, number, path, process)
  }

  deinit { unlock() }

  func unlock() {
    let heldLock = holdsLock.withLock { holds in
      defer { holds = false }
      return holds
    }
    guard heldLock else { return }
    files.state.withLock { state in
      if state.process == process { state.contents[number]?.isLocked = false }
    }
  }

  private func perform<Value>(
    _ name: String, _ body: (inout SimulatedFiles.State) throws(FileFailure) -> Value
  ) throws(FileFailure) -> Value { try files.perform(name, path, process: process, body) }

  func status() throws(FileFailure) -> FileStatus { try perform("status") { SimulatedFiles.status($0, number) } }

  func lock() throws(FileFailure) -> Bool {
    let isTaken = try perform("lock") { state in
      guard state.contents[number]?.isLocked == false else { return false }
      state.contents[number]?.isLocked = true
      return true
    }
    if isTaken { holdsLock.withLock { $0 = true } }
    return isTaken
  }

  private func change(_ change: SimulatedFiles.Change, _ state: inout SimulatedFiles.State) {
    change.apply(to: &state.contents[number, default: .init()].now)
    state.contents[number]?.pending.append(change)
  }

  func write(_ bytes: Data, at offset: Int64) throws(FileFailure) {
    try perform("write") { state throws(FileFailure) in
      guard state.used + bytes.count <= state.capacity else {
        throw FileFailure(operation: "write to", path: path, code: ENOSPC)
      }
      // Writes block by block, so that a kill or a loss of power can leave a part of the bytes.
      var rest = Data(bytes)
      var at = Int(offset)
      while !rest.isEmpty {
        let piece = Data(rest.prefix(512))
        change(.write(piece, at: at), &state)
        at += piece.count
        rest = rest.dropFirst(piece.count)
      }
    }
  }

  func read(upTo count: Int, at offset: Int64) throws(FileFailure) -> Data {
    try perform("read") { state in
      Data((state.contents[number]?.now ?? Data()).dropFirst(Int(offset)).prefix(count))
    }
  }

  func resize(to length: Int64) throws(FileFailure) {
    try perform("resize") { state in change(.resize(Int(length)), &state) }
  }

  func reserve(_ length: Int64) throws(FileFailure) {
    try perform("reserve") { state throws(FileFailure) in
      let before = state.contents[number]?.now.count ?? 0
      let free = state.capacity - state.used
      guard Int(length) - before <= free else {
        // The available space is used up, as by a system that allocates block by block.
        change(.resize(before + max(0, free)), &state)
        throw FileFailure(operation: "make room in", path: path, code: ENOSPC)
      }
      change(.resize(Int(length)), &state)
    }
  }

  func sync() throws(FileFailure) {
    try perform("sync") { state in
      let now = state.contents[number]?.now ?? Data()
      state.contents[number]?.durable = now
      state.contents[number]?.pending = []
    }
  }
}
