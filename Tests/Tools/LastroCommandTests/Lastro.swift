// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// The built `lastro` program, run in the way a user would run it.
enum Lastro {
  struct Result: Sendable {
    var status: Int32
    var output: Data
    var errors: String

    var text: String { String(decoding: output, as: UTF8.self) }
    var lines: [Substring] { text.split(separator: "\n") }

    /// Returns the single JSON object that was printed.
    func json() throws -> [String: Any] {
      try #require(JSONSerialization.jsonObject(with: output) as? [String: Any], "\(text) \(errors)")
    }

    /// Returns the JSON object of each printed line.
    func jsonLines() throws -> [[String: Any]] {
      try lines.map { try #require(JSONSerialization.jsonObject(with: Data($0.utf8)) as? [String: Any]) }
    }
  }

  /// The path of the program, which is found beside the test bundle.
  static let path: String = {
    let own = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
    let candidates = CommandLine.arguments + [own]
    for candidate in candidates {
      var folder = URL(filePath: candidate).deletingLastPathComponent()
      for _ in 0..<4 {
        let program = folder.appending(path: "lastro").path
        if FileManager.default.isExecutableFile(atPath: program) { return program }
        folder = folder.deletingLastPathComponent()
      }
    }
    return "lastro"
  }()

  /// Runs the program until it exits. Its environment has no proxy unless one is given.
  ///
  /// - Parameters:
  ///   - endsInput: whether standard input ends after `input`. Otherwise it stays open until the program exits.
  ///   - program: the program to run. Default: `lastro`.
  ///   - folder: the working directory.
  static func run(
    _ arguments: [String], input: String = "", endsInput: Bool = true, environment: [String: String] = [:],
    program: String = path, folder: String? = nil
  ) async throws -> Result {
    try await run(
      arguments, input: Data(input.utf8), endsInput: endsInput, environment: environment, program: program,
      folder: folder)
  }

  /// Runs the program like the function above, with binary input.
  static func run(
    _ arguments: [String], input: Data, endsInput: Bool = true, environment: [String: String] = [:],
    program: String = path, folder: String? = nil
  ) async throws -> Result {
    let words = (folder.map { ["/bin/sh", "-c", #"cd "$0" && exec "$@""#, $0] } ?? []) + [program] + arguments
    let answer = OneAnswer<Swift.Result<Result, any Error>>()
    Thread.detachNewThread {
      answer.give(Swift.Result { try runBlocking(words, input, endsInput, environment) })
    }
    return try await answer.value().get()
  }

  private static func runBlocking(
    _ words: [String], _ input: Data, _ endsInput: Bool, _ environment: [String: String]
  ) throws -> Result {
    let folder = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    // Files rather than pipes, which would have to be drained while the program runs.
    let files = ["in", "out", "err"].map { folder.appending(path: $0) }
    try input.write(to: files[0])
    for file in files[1...] { try Data().write(to: file) }
    let pipe = Pipe()
    let file = try FileHandle(forReadingFrom: files[0])
    let id = try spawn(
      words, environment, input: endsInput ? file : pipe.fileHandleForReading,
      output: try FileHandle(forWritingTo: files[1]), errors: try FileHandle(forWritingTo: files[2]))
    if !endsInput { try pipe.fileHandleForWriting.write(contentsOf: input) }
    let status = try exitStatus(of: id)
    try pipe.fileHandleForWriting.close()
    return Result(
      status: status, output: try Data(contentsOf: files[1]),
      errors: String(decoding: try Data(contentsOf: files[2]), as: UTF8.self))
  }

  /// Waits for a process to end.
  ///
  /// - Returns: its exit status, or the number of the signal that ended it.
  static func exitStatus(of id: pid_t) throws -> Int32 {
    var status: Int32 = 0
    while waitpid(id, &status, 0) == -1 {
      guard errno == EINTR else { throw POSIXError(.init(rawValue: errno) ?? .ECHILD) }
    }
    return status & 0x7f == 0 ? status >> 8 & 0xff : status & 0x7f
  }

  /// Starts the program without Foundation's `Process`, which reads /proc/self/fd and may crash if there are thousands
  /// of descriptors.
  ///
  /// - Parameter environment: the variables that differ from this process's. Proxies are left out.
  static func spawn(
    _ arguments: [String], _ environment: [String: String], input: FileHandle, output: FileHandle,
    errors: FileHandle
  ) throws -> pid_t {
    var all = ProcessInfo.processInfo.environment.filter { !$0.key.lowercased().hasSuffix("_proxy") }
    // A program that exits while one of its threads is ending has no leak, but a leak report would change its exit
    // status. Leaks of the engine are detected in this process.
    all["ASAN_OPTIONS"] = "detect_leaks=0"
    all.merge(environment) { $1 }
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    for (number, handle) in [input, output, errors].enumerated() {
      posix_spawn_file_actions_adddup2(&actions, handle.fileDescriptor, Int32(number))
    }
    PeerProcess.closeInherited(&actions)
    var words = arguments.map { strdup($0) } + [nil]
    var variables = all.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { (words + variables).forEach { free($0) } }
    var id: pid_t = 0
    let result = posix_spawn(&id, arguments[0], &actions, nil, &words, &variables)
    guard result == 0 else { throw POSIXError(.init(rawValue: result) ?? .ENOEXEC) }
    return id
  }
}

extension [String: Any] {
  /// The stage and code of `error`; `nil` if `error` is null.
  var failureWords: String? {
    guard let error = self["error"] as? [String: Any] else { return nil }
    return "\(error["stage"] ?? "?")/\(error["code"] ?? "?")"
  }

  var attempts: [[String: Any]] { self["attempts"] as? [[String: Any]] ?? [] }
  var status: Int? { self["status"] as? Int }
}

/// A root, an intermediate, and servers with certificates of theirs, for the program to connect to.
struct PinnedServers {
  let root: CertificateAuthority
  let issuer: CertificateAuthority
  let directory: PeerDirectory
  /// A pin that matches no server's key.
  static let absent = "sha256/" + String(repeating: "A", count: 43) + "="

  init() throws {
    root = try CertificateAuthority()
    issuer = try root.intermediate()
    directory = try PeerDirectory()
    try directory.write(root.rootPEM, to: "roots/root.pem")
  }

  var rootFile: String { directory.file("roots/root.pem") }
  var trust: [String] { ["--cacert", rootFile] }

  func leaf(_ hosts: String..., type: CertificateKeyType = .p256) throws -> MintedCertificate {
    try issuer.issue(hosts: hosts, keyType: type)
  }

  func server(
    _ identity: MintedCertificate, _ edit: (inout LoopbackTLS) -> Void = { _ in }
  ) throws -> LoopbackServer {
    var tls = LoopbackTLS(identity)
    edit(&tls)
    return try LoopbackServer.http(tls: tls) { _ in .text("answer") }
  }

  /// Runs `lastro fetch` for a server, with the root trusted.
  func fetch(_ server: LoopbackServer, _ flags: String...) async throws -> Lastro.Result {
    try await Lastro.run(["fetch"] + trust + flags + [server.baseURL])
  }

  func pins(_ flags: String...) async throws -> Lastro.Result { try await Lastro.run(["pins"] + trust + flags) }

  func policyFile(_ policies: [[String: Any]], allowsOthers: Bool? = nil) throws -> String {
    var object: [String: Any] = ["policies": policies]
    if let allowsOthers { object["allowNotPinnedDomains"] = allowsOthers }
    return try directory.write(JSONSerialization.data(withJSONObject: object), to: "policy-\(UUID().uuidString).json")
  }

  /// Returns the pin of a certificate's key, computed with the OpenSSL library.
  static func pin(_ certificate: MintedCertificate) throws -> String {
    "sha256/" + Data(try certificate.publicKeySHA256()).base64EncodedString()
  }

  /// Returns the pin of the first certificate in a PEM file, computed with the `openssl` program.
  func openSSLPin(_ file: String) async throws -> String {
    let base64 = try await OpenSSLProgram.run(
      "openssl x509 -in \(file) -noout -pubkey | openssl pkey -pubin -outform der | openssl dgst -sha256 -binary | base64",
      in: directory)
    return "sha256/" + base64.filter { !$0.isWhitespace }
  }
}
