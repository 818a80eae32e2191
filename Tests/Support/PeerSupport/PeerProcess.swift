// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Glibc
import Synchronization

/// A server program that runs in the foreground in its own process group, and is killed when the test process ends.
package final class PeerProcess: Sendable {
  /// The parameters to start a program with.
  struct Launch: Sendable {
    /// The absolute path of the program.
    var program: String
    /// The arguments, without the program's name.
    var arguments: [String]
    /// Whether the program runs as an unprivileged user if root starts it. Needed for programs that refuse to run as
    /// root, or that change their user, which makes the kernel clear the parent-death signal.
    var dropsRoot = false
    /// The signal sent to the program when the test process dies: `KILL`, or `TERM` if the program must clean up.
    var deathSignal = "KILL"
  }

  /// The process id, which is also the id of the process group.
  package let id: pid_t
  private let stopped = Atomic<Bool>(false)

  private let ports: [Int]

  private init(id: pid_t, ports: [Int]) {
    self.id = id
    self.ports = ports
  }

  deinit { stop() }

  /// Kills the process group, reaps the program, and waits at most 30 seconds until its ports are closed. Further calls
  /// have no effect.
  package func stop() {
    guard !stopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
    kill(-id, SIGKILL)
    var status: Int32 = 0
    while waitpid(id, &status, 0) == -1 && errno == EINTR {}
    // The program's children also hold its listener, and end a moment later.
    let deadline = ContinuousClock.now + .seconds(30)
    while ports.contains(where: { Loopback.accepts(port: $0) }) && ContinuousClock.now < deadline { usleep(1000) }
  }

  /// The system's unprivileged user, which peers run as if they do not run as root.
  static let unprivilegedUser: UInt32 = 65534

  /// Returns the absolute path of a program. It also searches the directories where Debian installs servers.
  ///
  /// - Throws: ``PeerError`` with the name of the package to install.
  static func find(_ names: [String], package name: String) throws -> String {
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/bin:/sbin:/bin"
    for program in names {
      for folder in path.split(separator: ":") where access("\(folder)/\(program)", X_OK) == 0 {
        return "\(folder)/\(program)"
      }
    }
    throw PeerError("\(names[0]) is not installed: run `make setup`, or install the package \(name)")
  }

  /// Returns the absolute path of a program that `make setup` has installed in `.build-peers`.
  static func installed(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let program = root.appending(path: ".build-peers/bin/\(name)").path
    guard access(program, X_OK) == 0 else {
      throw PeerError("\(name) is not installed in .build-peers: run `make setup`")
    }
    return program
  }

  /// Starts a program and waits at most a minute until every port accepts connections.
  static func start(_ launch: Launch, in directory: PeerDirectory, ports: [Int]) async throws -> PeerProcess {
    try await LifelongThread.shared.perform {
      let process = PeerProcess(id: try spawn(launch, log: directory.file("log")), ports: ports)
      let deadline = ContinuousClock.now + .seconds(60)
      while !ports.allSatisfy({ Loopback.accepts(port: $0) }) {
        if process.hasEnded() || ContinuousClock.now > deadline {
          process.stop()
          throw PeerError("\(launch.program) did not start:\n\(directory.text(of: "log"))")
        }
        usleep(5000)
      }
      // If the program has ended, another program is accepting on its port.
      if process.hasEnded() { throw PeerError("\(launch.program) ended:\n\(directory.text(of: "log"))") }
      return process
    }
  }

  /// Runs a program and waits at most four minutes until it exits: a busy machine compiles slowly.
  ///
  /// - Throws: ``PeerError`` with the output if the exit status is not 0, or if the program is killed.
  static func run(_ program: String, _ arguments: [String], in directory: PeerDirectory) async throws {
    try await LifelongThread.shared.perform {
      let id = try spawn(Launch(program: program, arguments: arguments), log: directory.file("log"))
      let deadline = ContinuousClock.now + .seconds(240)
      var status: Int32 = 0
      while case let ended = waitpid(id, &status, WNOHANG), ended == 0 || ended == -1 && errno == EINTR {
        if ContinuousClock.now > deadline { kill(-id, SIGKILL) }
        usleep(1000)
      }
      guard status == 0 else {
        throw PeerError("\(program) \(arguments.joined(separator: " ")):\n\(directory.text(of: "log"))")
      }
    }
  }

  private func hasEnded() -> Bool {
    var information = siginfo_t()
    // WNOWAIT leaves the process in a waitable state, so that `stop` can reap it.
    let result = waitid(P_PID, id_t(id), &information, WEXITED | WNOHANG | Int32(bitPattern: UInt32(WNOWAIT)))
    return result != 0 || information.si_signo == SIGCHLD
  }

  private static func spawn(_ launch: Launch, log: String) throws -> pid_t {
    var command = [try find(["setpriv"], package: "util-linux"), "--pdeathsig", launch.deathSignal]
    if launch.dropsRoot && getuid() == 0 {
      command += ["--reuid", "\(unprivilegedUser)", "--regid", "\(unprivilegedUser)", "--clear-groups"]
    }
    command += [launch.program] + launch.arguments

    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, log, O_WRONLY | O_CREAT | O_APPEND, 0o644)
    posix_spawn_file_actions_adddup2(&actions, 1, 2)
    closeInherited(&actions)

    var attributes = posix_spawnattr_t()
    posix_spawnattr_init(&attributes)
    defer { posix_spawnattr_destroy(&attributes) }
    var noSignals = sigset_t()
    sigemptyset(&noSignals)
    posix_spawnattr_setsigmask(&attributes, &noSignals)
    posix_spawnattr_setpgroup(&attributes, 0)
    posix_spawnattr_setflags(&attributes, Int16(POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK))

    var arguments = command.map { strdup($0) } + [nil]
    defer { arguments.forEach { free($0) } }
    var id: pid_t = 0
    let result = posix_spawn(&id, command[0], &actions, &attributes, &arguments, environ)
    guard result == 0 else { throw PeerError("\(launch.program): \(String(cString: strerror(result)))") }
    return id
  }

  /// Makes a child close all descriptors except the first three. An inherited descriptor would keep a test's connection
  /// or listener open. It also closes some descriptors that do not exist yet, because other threads may open them
  /// before the child starts.
  package static func closeInherited(_ actions: inout posix_spawn_file_actions_t) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let highest = names.compactMap { Int32($0) }.max() ?? 1024
    for descriptor in 3..<(highest + 64) { posix_spawn_file_actions_addclose(&actions, descriptor) }
  }
}

/// A thread that runs until the process ends, and executes blocking work in order.
///
/// `PR_SET_PDEATHSIG` fires when the *thread* that started the child ends, not when the process ends. The threads of
/// the concurrency runtime may end at any time, so every peer is started on this thread.
// @unchecked Sendable because `jobs` is only touched under `mutex`, and the two pointers never change.
final class LifelongThread: @unchecked Sendable {
  static let shared = LifelongThread()

  private let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
  private let condition = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
  private var jobs: [@Sendable () -> Void] = []

  private init() {
    pthread_mutex_init(mutex, nil)
    pthread_cond_init(condition, nil)
    var thread = pthread_t()
    let retained = Unmanaged.passRetained(self).toOpaque()
    pthread_create(
      &thread, nil,
      { context in
        if let context { Unmanaged<LifelongThread>.fromOpaque(context).takeUnretainedValue().run() }
        return nil
      }, retained)
    pthread_detach(thread)
  }

  /// Runs `work` on the thread and returns its result.
  func perform<T: Sendable>(_ work: @escaping @Sendable () throws -> T) async throws -> T {
    try await withCheckedThrowingContinuation { continuation in
      enqueue { continuation.resume(with: Result(catching: work)) }
    }
  }

  private func enqueue(_ job: @escaping @Sendable () -> Void) {
    pthread_mutex_lock(mutex)
    jobs.append(job)
    pthread_cond_signal(condition)
    pthread_mutex_unlock(mutex)
  }

  private func run() {
    while true {
      pthread_mutex_lock(mutex)
      while jobs.isEmpty { pthread_cond_wait(condition, mutex) }
      let job = jobs.removeFirst()
      pthread_mutex_unlock(mutex)
      job()
    }
  }
}

/// A temporary directory that is deleted when its owner is released.
package final class PeerDirectory: Sendable {
  /// The absolute path of the directory.
  package let path: String

  /// Creates the directory in `TMPDIR`, or in `/tmp` if that is not set. The path is short, because the path of a Unix
  /// socket has at most 107 bytes.
  package init() throws {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var template = Array("\(parent)/lastro-peer-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw PeerError("mkdtemp in \(parent): \(errorText())") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    chmod(path, 0o755)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// The letters and digits of the last path component, which are unique to this directory.
  var name: String { (path.split(separator: "/").last ?? "").filter { $0.isLetter || $0.isNumber } }

  /// Returns the path of a file in the directory.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and returns its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try write(Data(text.utf8), to: name)
  }

  /// Writes a file and returns its path.
  @discardableResult
  package func write(_ data: Data, to name: String) throws -> String {
    let target = file(name)
    let folder = String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)])
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try data.write(to: URL(filePath: target))
    return target
  }

  /// Returns the text of a file in the directory, or an empty text if the file does not exist.
  package func text(of name: String) -> String {
    (try? Data(contentsOf: URL(filePath: file(name)))).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// Returns the lines of a file in the directory, or none if the file does not exist.
  func lines(of name: String) -> [String] { text(of: name).split(separator: "\n").map(String.init) }

  /// Makes another user the owner of the directory and its contents.
  func give(to user: UInt32) {
    chown(path, user, user)
    for name in (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? [] { chown(file(name), user, user) }
  }
}

/// An error that says why a peer cannot be used, with the peer's output.
package struct PeerError: Error, CustomStringConvertible {
  /// The description of the failure.
  package let description: String

  init(_ description: String) { self.description = description }
}
