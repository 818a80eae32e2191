// SPDX-License-Identifier: Apache-2.0

internal import Glibc
internal import Lastro
internal import LastroHTTP
internal import LastroSupport

/// The file that TLS secrets are appended to, in the format of `SSLKEYLOGFILE`.
///
/// A separate thread writes the lines in the order in which they were appended: a file system may block a write for any
/// length of time, and the loop's thread serves all connections. The thread starts with the first line and ends with
/// the last. It retains the file meanwhile.
final class KeyLogFile: Sendable {
  /// The maximum number of queued bytes. Further lines are dropped, and a comment in the file states their number.
  static let maximumWaitingBytes = 1 << 20
  /// The time within which a full pipe must be read before a line is lost.
  private static let pipeLimit = Duration.seconds(1)
  /// The maximum time that an engine or the process waits for lines when it ends.
  private static let flushLimit = Duration.seconds(1)
  /// The number of threads in the process that write or close a file.
  private static let busy = Watched(0)

  private struct State {
    var lines: [[UInt8]] = []
    var bytes = 0
    var dropped = 0
    var isWriting = false

    /// Removes and returns the queued lines.
    mutating func takeLines() -> [[UInt8]] {
      if dropped > 0 { lines.append(Array("# \(dropped) lines were dropped\n".utf8)) }
      defer { (lines, bytes, dropped) = ([], 0, 0) }
      return lines
    }
  }

  private let descriptor: Int32
  private let state = Lock(State())

  /// Opens or creates the file. The call may block.
  convenience init(path: String) throws(TransportError) {
    // Open without waiting: a pipe without a reader would block the thread.
    let flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NONBLOCK
    let descriptor = path.utf8.contains(0) ? -1 : uninterrupted { open(path, flags, 0o600) }
    guard descriptor >= 0 else {
      throw TransportError(
        stage: .tls, code: .invalidTLSConfiguration,
        message: "the key log file \(path) cannot be written: \(SystemError.text(errno))",
        hint: "name a file in a directory that this process may write to")
    }
    self.init(descriptor: descriptor)
  }

  /// Creates a file that owns the descriptor, and closes it once every line has been written.
  init(descriptor: Int32) {
    self.descriptor = descriptor
    _ = Self.exitRegistration
  }

  deinit {
    // Lines are left only if no thread could be started for them. Closing may block, too.
    let lines = state.withLock { $0.takeLines() }
    let isStarted = Self.startThread { [descriptor] in
      for line in lines { Self.write(line, to: descriptor) }
      Glibc.close(descriptor)
    }
    if !isStarted { Glibc.close(descriptor) }
  }

  /// Queues a line. The call does not block. A line that cannot be written is lost: the file is for debugging.
  func append(_ text: UnsafePointer<CChar>) {
    let line = Array(String(cString: text).utf8) + [UInt8(ascii: "\n")]
    let mustStart = state.withLock { state in
      guard state.bytes + line.count <= Self.maximumWaitingBytes else {
        state.dropped += 1
        return false
      }
      state.lines.append(line)
      state.bytes += line.count
      defer { state.isWriting = true }
      return !state.isWriting
    }
    guard mustStart else { return }
    // The thread releases the file before it ends, so that it still counts while `deinit` starts the next one.
    let file = Lock<KeyLogFile?>(self)
    // If no thread starts, the next append retries.
    if !Self.startThread({ file.withLock { $0.take() }?.writeLines() }) { state.withLock { $0.isWriting = false } }
  }

  // MARK: The end of an engine, or of the process

  /// Waits until all lines have been written, for at most ``flushLimit``, even if the task is cancelled.
  static func flush() async {
    _ = await interruptible(within: flushLimit, ignoringCancellation: true, time: .continuous) {
      await busy.wait { $0 == 0 }
    }
  }

  /// Makes the process wait for lines when it exits.
  private static let exitRegistration = atexit {
    let end = monotonicNow().adding(flushLimit)
    while busy.read({ $0 > 0 }), monotonicNow() < end { usleep(1_000) }
  }

  // MARK: The thread

  /// Starts a thread. Returns false if the system cannot start one.
  private static func startThread(_ body: @escaping @Sendable () -> Void) -> Bool {
    Self.busy.change { $0 += 1 }
    let code = DetachedThread.start {
      nameThread("lastro-keylog")
      // A pipe without a reader must not terminate the process.
      var signals = sigset_t()
      sigemptyset(&signals)
      sigaddset(&signals, SIGPIPE)
      pthread_sigmask(SIG_BLOCK, &signals, nil)
      body()
      Self.busy.change { $0 -= 1 }
    }
    if code != 0 { Self.busy.change { $0 -= 1 } }
    return code == 0
  }

  private func writeLines() {
    while let lines = nextLines() {
      for line in lines { Self.write(line, to: descriptor) }
    }
  }

  /// Returns the lines to write next; nil if none are left, so that the thread ends.
  private func nextLines() -> [[UInt8]]? {
    state.withLock { state in
      let lines = state.takeLines()
      state.isWriting = !lines.isEmpty
      return lines.isEmpty ? nil : lines
    }
  }

  /// Writes a line with one call, so that lines of several processes do not mix.
  private static func write(_ line: [UInt8], to descriptor: Int32) {
    var rest = line[...]
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { Glibc.write(descriptor, $0.baseAddress, $0.count) }
      if count > 0 {
        rest = rest.dropFirst(count)
      } else if count < 0, errno == EAGAIN {
        // A pipe may be full. Its reader has ``pipeLimit`` to make room.
        let end = monotonicNow().adding(pipeLimit)
        guard (try? BoundedFile.wait(for: POLLOUT, on: descriptor, until: end)) != nil else { return }
      } else if count == 0 || errno != EINTR {
        return
      }
    }
  }
}
