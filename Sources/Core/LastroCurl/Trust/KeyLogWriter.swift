// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// Writes the lines of one ``KeyLogFile`` on a thread that starts with the first line and ends with the last.
final class KeyLogWriter: Sendable {
  /// The maximum number of queued bytes. Further lines are dropped, and a comment in the file states their number.
  static let maximumWaitingBytes = 1 << 20
  /// The time within which a full pipe must be read before a line is lost.
  private static let pipeLimit = Duration.seconds(1)
  /// The maximum time that an engine or the process waits for lines when it ends.
  static let flushLimit = Duration.seconds(1)
  /// The number of writers in the process whose threads are running.
  private static let busy = Watched(0)

  private struct State {
    var lines: [[UInt8]] = []
    var bytes = 0
    var dropped = 0
    var isWriting = false
    var isClosed = false
  }

  private let descriptor: Int32
  private let state = Lock(State())

  init(descriptor: Int32) { self.descriptor = descriptor }

  func append(_ line: [UInt8]) {
    let mustStart = state.withLock { state in
      guard state.bytes + line.count <= Self.maximumWaitingBytes else {
        state.dropped += 1
        return false
      }
      state.lines.append(line)
      state.bytes += line.count
      return Self.startsWriting(&state)
    }
    // Without a thread, the lines wait for the next append.
    if mustStart { _ = start() }
  }

  /// Closes the descriptor once every line has been written. No line may be appended afterwards.
  func close() {
    let mustStart = state.withLock { state in
      state.isClosed = true
      return Self.startsWriting(&state)
    }
    if mustStart, !start() { Glibc.close(descriptor) }
  }

  // MARK: The end of an engine, or of the process

  /// Waits until all lines have been written, for at most ``flushLimit``, even if the task is cancelled.
  static func flush() async {
    _ = await interruptible(within: flushLimit, ignoringCancellation: true, time: .continuous) {
      await busy.wait { $0 == 0 }
    }
  }

  /// Makes the process wait for lines when it exits.
  static func registerExit() { _ = exitRegistration }

  private static let exitRegistration = atexit {
    let end = monotonicNow().adding(flushLimit)
    while busy.read({ $0 > 0 }), monotonicNow() < end { usleep(1_000) }
  }

  // MARK: The thread

  private static func startsWriting(_ state: inout State) -> Bool {
    guard !state.isWriting else { return false }
    state.isWriting = true
    return true
  }

  private func start() -> Bool {
    Self.busy.change { $0 += 1 }
    let code = DetachedThread.start {
      nameThread("lastro-keylog")
      self.run()
      Self.busy.change { $0 -= 1 }
    }
    guard code != 0 else { return true }
    state.withLock { $0.isWriting = false }
    Self.busy.change { $0 -= 1 }
    return false
  }

  private func run() {
    // A pipe without a reader must not terminate the process.
    var signals = sigset_t()
    sigemptyset(&signals)
    sigaddset(&signals, SIGPIPE)
    pthread_sigmask(SIG_BLOCK, &signals, nil)
    while let lines = nextLines() {
      for line in lines { write(line) }
    }
  }

  /// Returns the lines to write next; nil if none are left, so that the thread ends.
  private func nextLines() -> [[UInt8]]? {
    let (lines, mustClose) = state.withLock { state in
      guard state.lines.isEmpty, state.dropped == 0 else {
        var lines = state.lines
        if state.dropped > 0 { lines.append(Array("# \(state.dropped) lines were dropped\n".utf8)) }
        (state.lines, state.bytes, state.dropped) = ([], 0, 0)
        return (lines, false)
      }
      state.isWriting = false
      return ([], state.isClosed)
    }
    if mustClose { Glibc.close(descriptor) }
    return lines.isEmpty ? nil : lines
  }

  /// Writes a line with one call, so that lines of several processes do not mix.
  private func write(_ line: [UInt8]) {
    var rest = line[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno == EAGAIN {
        // A pipe may be full. Its reader has ``pipeLimit`` to make room.
        let end = monotonicNow().adding(Self.pipeLimit)
        guard (try? BoundedFile.wait(for: POLLOUT, on: descriptor, until: end)) != nil else { return }
      } else if count == 0 || errno != EINTR {
        return
      }
    }
  }
}
