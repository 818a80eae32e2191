// SPDX-License-Identifier: Apache-2.0

import Glibc
import Lastro
import LastroEveryday
import LastroSupport

/// The folder of a store, with its handling of failures.
final class SQLiteFolder: Sendable {
  private static let failuresBeforePause = 3
  private static let pause = Duration.seconds(60)

  private struct State {
    /// The contents, for one thread at a time: used only while the lock is held.
    var contents: SQLiteContents?
    /// The events to report once the lock is released.
    var events: [String] = []
  }

  private let path: String
  private let files: BodyFiles
  private let maximumBytes: Int64
  private let time: TimeSource
  private let onEvent: (@Sendable (String) -> Void)?
  private let state: Lock<State>
  /// The key, in a lock of its own because the state's lock is held during disk access.
  private let digestKey: Lock<[UInt8]>
  /// The number of consecutive failures, and the time until which nothing is written.
  private let failures = Lock((count: 0, until: Duration?.none))

  init(
    directory: String, maximumBytes: Int64, time: TimeSource, random: RandomSource,
    onEvent: (@Sendable (String) -> Void)?, onStep: @escaping @Sendable (BodyFiles.Step) -> Int32
  ) throws(ConfigurationError) {
    let resolved = try Self.resolved(directory)
    try Self.make(resolved, for: directory)
    try Self.make("\(resolved)/bodies", for: "\(directory)/bodies")
    path = "\(resolved)/cache.sqlite3"
    files = BodyFiles(directory: "\(resolved)/bodies", random: random, onStep: onStep)
    self.maximumBytes = maximumBytes
    self.time = time
    self.onEvent = onEvent
    state = Lock(State())
    // Generate a key even if the folder cannot be read, because the store in memory needs one.
    digestKey = Lock(DigestKey.bytes(from: random))
    state.withLock { open(&$0) }
    tell()
  }

  var key: [UInt8] { digestKey.withLock { $0 } }

  private func tell() {
    let events = state.withLock { state in
      defer { state.events = [] }
      return state.events
    }
    for event in events { onEvent?(event) }
  }

  /// Whether writing is allowed. False for a while after consecutive failures.
  var mayWrite: Bool { failures.withLock { $0.until.map { time.now() >= $0 } ?? true } }

  /// Runs the body with the contents, on the queue's thread.
  ///
  /// - Returns: `nil` if it failed.
  func perform<Value>(
    isWriting: Bool, _ body: (SQLiteContents) throws(SQLiteFailure) -> Value
  ) -> Value? {
    let result: Result<Value?, SQLiteFailure> = state.withLock { state in
      if state.contents == nil { open(&state) }
      guard let contents = state.contents else { return .success(nil) }
      do throws(SQLiteFailure) {
        return .success(try body(contents))
      } catch {
        if error.isCorruption { rebuild(&state, error) } else { state.events.append(Self.failed(error)) }
        return .failure(error)
      }
    }
    defer { tell() }
    switch result {
    case .success(let value):
      if isWriting { failures.withLock { $0 = (0, nil) } }
      return value
    case .failure:
      if isWriting { countFailure() }
      return nil
    }
  }

  private func countFailure() {
    let isPaused = failures.withLock { failures in
      failures.count += 1
      guard failures.count >= Self.failuresBeforePause else { return false }
      failures = (0, time.now() + Self.pause)
      return true
    }
    guard isPaused else { return }
    let text = "the cache writes nothing for \(Self.pause.brief), because three writes failed in a row"
    state.withLock { $0.events.append(text) }
  }

  private static func failed(_ failure: SQLiteFailure) -> String {
    "the cache cannot read or store a response: \(failure.text)"
  }

  private func open(_ state: inout State) {
    do throws(SQLiteFailure) {
      try openOnce(&state)
    } catch {
      if error.isCorruption { rebuild(&state, error) } else { state.events.append(Self.failed(error)) }
    }
  }

  private func openOnce(_ state: inout State) throws(SQLiteFailure) {
    let time = time
    let contents = try SQLiteContents(path: path, files: files, maximumBytes: maximumBytes) {
      let now = min(max(time.sinceEpoch(), .zero), .seconds(1_000_000_000_000)).components
      return now.seconds * 1_000_000 + now.attoseconds / 1_000_000_000_000
    }
    state.contents = contents
    digestKey.withLock { $0 = contents.key }
  }

  /// Deletes everything in the folder and creates an empty database.
  private func rebuild(_ state: inout State, _ failure: SQLiteFailure) {
    state.contents = nil
    for suffix in ["", "-wal", "-shm", "-journal"] { unlink(path + suffix) }
    files.removeAll()
    do throws(SQLiteFailure) {
      try openOnce(&state)
      state.events.append("the cache was emptied and created afresh: \(failure.text)")
    } catch {
      state.events.append(Self.failed(error))
    }
  }

  /// Returns the folder's path with symbolic links in its parents resolved, because SQLite does not follow them. A
  /// symbolic link at the folder itself is not resolved, even if slashes follow it, and is refused later.
  private static func resolved(_ directory: String) throws(ConfigurationError) -> String {
    let path = directory.utf8.reversed().drop { $0 == UInt8(ascii: "/") }
    let name = String(decoding: path.prefix { $0 != UInt8(ascii: "/") }.reversed(), as: UTF8.self)
    let isWhole = ["", ".", ".."].contains(name)
    let above = String(decoding: path.dropFirst(name.utf8.count).reversed(), as: UTF8.self)
    guard let real = realpath(isWhole ? directory : above.isEmpty ? "." : above, nil) else {
      throw cannotBeMade(directory)
    }
    defer { free(real) }
    return isWhole ? String(cString: real) : "\(String(cString: real))/\(name)"
  }

  /// Returns an error with the `errno` of the call that has failed last.
  private static func cannotBeMade(_ directory: String) -> ConfigurationError {
    ConfigurationError(
      "the cache's folder \(directory) cannot be created: \(String(cString: strerror(errno)))",
      hint: "create its parent, or name a folder whose parent is writable")
  }

  /// Creates a folder that only its owner may access.
  ///
  /// - Parameter directory: the folder as the caller named it.
  private static func make(_ path: String, for directory: String) throws(ConfigurationError) {
    if mkdir(path, 0o700) != 0, errno != EEXIST { throw cannotBeMade(directory) }
    var status = stat()
    guard lstat(path, &status) == 0, status.st_mode & S_IFMT == S_IFDIR else {
      throw ConfigurationError("\(directory) is not a folder", hint: "name one for the cache alone")
    }
    guard status.st_uid == geteuid(), status.st_mode & 0o077 == 0 else {
      throw ConfigurationError(
        "other users may read or write the cache's folder \(directory)",
        hint: "give it to this user alone: chmod 700, or name another one")
    }
  }
}
