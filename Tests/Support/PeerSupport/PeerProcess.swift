// SPDX-License-Identifier: Apache-2.0

package import FoundationEssentials
package import Glibc
import Synchronization

/// A server program in the foreground, in a process group of its own, that ends with us at the latest.
package final class PeerProcess: Sendable {
  /// How to start a program.
  struct Launch: Sendable {
    /// Absolute path of the program.
    var program: String
    /// Its arguments, without the program's name.
    var arguments: [String]
    /// Whether it gives up root, where it is started by root: for programs that refuse root, or change user by
    /// themselves, which makes the kernel forget the parent-death signal.
    var dropsRoot = false
    /// What it gets when we die: `KILL`, or `TERM` where it has to clean up.
    var deathSignal = "KILL"
  }

  /// Its process id, which is also its process group.
  package let id: pid_t
  private let stopped = Atomic<Bool>(false)

  private let ports: [Int]

  private init(id: pid_t, ports: [Int]) {
    self.id = id
    self.ports = ports
  }

  deinit { stop() }

  /// Kills the group, reaps the program, and waits, half a minute at most, until its ports are closed. Does nothing the
  /// second time.
  package func stop() {
    guard !stopped.exchange(true, ordering: .acquiringAndReleasing) else { return }
    kill(-id, SIGKILL)
    var status: Int32 = 0
    while waitpid(id, &status, 0) == -1 && errno == EINTR {}
    // The program's own children hold its listener too, and end a moment later.
    let deadline = ContinuousClock.now + .seconds(30)
    while ports.contains(where: { Loopback.accepts(port: $0) }) && ContinuousClock.now < deadline { usleep(1000) }
  }

  /// The user a peer runs as when it gives up root, the unprivileged one of the system.
  static let unprivilegedUser: UInt32 = 65534

  /// Absolute path of a program, looked for where Debian puts servers too.
  ///
  /// - Throws: ``PeerError`` naming the package to install.
  static func find(_ names: [String], package name: String) throws -> String {
    let path = (ProcessInfo.processInfo.environment["PATH"] ?? "") + ":/usr/sbin:/usr/bin:/sbin:/bin"
    for program in names {
      for folder in path.split(separator: ":") where access("\(folder)/\(program)", X_OK) == 0 {
        return "\(folder)/\(program)"
      }
    }
    throw PeerError("\(names[0]) is not installed: run `make setup`, or install the package \(name)")
  }

  /// Absolute path of a program that `make setup` installs beside the sources.
  static func installed(_ name: String) throws -> String {
    let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
      .deletingLastPathComponent().deletingLastPathComponent()
    let program = root.appending(path: ".build-peers/bin/\(name)").path
    guard access(program, X_OK) == 0 else {
      throw PeerError("\(name) is not installed in .build-peers: run `make setup`")
    }
    return program
  }

  /// Starts a program and waits, a minute at most, until every port accepts connections.
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
      // Another program accepts on its port when the program itself has ended.
      if process.hasEnded() { throw PeerError("\(launch.program) ended:\n\(directory.text(of: "log"))") }
      return process
    }
  }

  /// Runs a program to its end, a minute at most.
  ///
  /// - Throws: ``PeerError`` with its output when it exits with anything but 0, or is killed.
  static func run(_ program: String, _ arguments: [String], in directory: PeerDirectory) async throws {
    try await LifelongThread.shared.perform {
      let id = try spawn(Launch(program: program, arguments: arguments), log: directory.file("log"))
      let deadline = ContinuousClock.now + .seconds(60)
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
    // WNOWAIT leaves it to be reaped by `stop`.
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

  /// Has a child close all but its first three descriptors: an inherited one would keep a test's connection or listener
  /// alive. Some more than there are, for those that other threads open meanwhile.
  package static func closeInherited(_ actions: inout posix_spawn_file_actions_t) {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/fd")) ?? []
    let highest = names.compactMap { Int32($0) }.max() ?? 1024
    for descriptor in 3..<(highest + 64) { posix_spawn_file_actions_addclose(&actions, descriptor) }
  }
}

/// A thread that lives as long as the process and runs blocking work in order.
///
/// `PR_SET_PDEATHSIG` fires when the *thread* that started the child ends, not the process, and the threads of the
/// concurrency runtime come and go. Every peer is therefore started here.
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

  /// Runs `work` on the thread and gives its result.
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

/// A temporary directory that goes away with its owner.
package final class PeerDirectory: Sendable {
  /// Its absolute path.
  package let path: String

  /// Makes it under `TMPDIR`, else `/tmp`: short, because the path of a Unix socket may have 107 bytes at most.
  package init() throws {
    let parent = ProcessInfo.processInfo.environment["TMPDIR"] ?? "/tmp"
    var template = Array("\(parent)/lastro-peer-XXXXXX".utf8CString)
    guard mkdtemp(&template) != nil else { throw PeerError("mkdtemp in \(parent): \(errorText())") }
    path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
    chmod(path, 0o755)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  /// Letters and digits of its last part, which no other directory has.
  var name: String { (path.split(separator: "/").last ?? "").filter { $0.isLetter || $0.isNumber } }

  /// Path of a file in it.
  package func file(_ name: String) -> String { "\(path)/\(name)" }

  /// Writes a file and gives its path.
  @discardableResult
  package func write(_ text: String, to name: String) throws -> String {
    try write(Data(text.utf8), to: name)
  }

  /// Writes a file and gives its path.
  @discardableResult
  package func write(_ data: Data, to name: String) throws -> String {
    let target = file(name)
    let folder = String(target[..<(target.lastIndex(of: "/") ?? target.endIndex)])
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    try data.write(to: URL(filePath: target))
    return target
  }

  /// The text of a file in it; empty when it is not there.
  package func text(of name: String) -> String {
    (try? Data(contentsOf: URL(filePath: file(name)))).map { String(decoding: $0, as: UTF8.self) } ?? ""
  }

  /// The lines of a file in it; none when it is not there.
  func lines(of name: String) -> [String] { text(of: name).split(separator: "\n").map(String.init) }

  /// Gives the directory and what is in it to another user.
  func give(to user: UInt32) {
    chown(path, user, user)
    for name in (try? FileManager.default.subpathsOfDirectory(atPath: path)) ?? [] { chown(file(name), user, user) }
  }
}

/// Why a peer could not be used, with what it printed.
package struct PeerError: Error, CustomStringConvertible {
  /// What happened.
  package let description: String

  init(_ description: String) { self.description = description }
}
