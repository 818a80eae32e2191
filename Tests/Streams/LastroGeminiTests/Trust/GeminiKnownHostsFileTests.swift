// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroTesting
import Testing

@testable import Lastro
@testable import LastroGemini

@Suite("Gemini known hosts in a file", .timeLimit(.minutes(15)))
struct GeminiKnownHostsFileTests {
  static let pin = "sha256/47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU="
  static let known = GeminiKnownHost(
    pin: SPKIHash(pin).unsafelyUnwrapped,
    expires: Date(timeIntervalSince1970: 1_800_000_000.75))
  static let line = "capsule.example 1965 \(pin) 2027-01-15T08:00:00Z"
  static let header = "lastro-known-hosts 1"

  /// A directory that is removed at the end of a test.
  final class Folder: Sendable {
    let path: String

    init() throws {
      path = FileManager.default.temporaryDirectory.appending(path: "lastro-known-hosts-\(UUID().uuidString)").path
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }

    var file: String { "\(path)/known" }
    func write(_ text: String) throws { try Data(text.utf8).write(to: URL(filePath: file)) }
    func text() throws -> String { String(decoding: try Data(contentsOf: URL(filePath: file)), as: UTF8.self) }
  }

  static func host(_ name: String = "capsule.example", port: Int = 1965) throws -> GeminiHost {
    try GeminiHost(HostName(name), port: port)
  }

  @Test("Trust on first use takes the path of the file and the other requirements")
  func trust() throws {
    let trust = GeminiTrust.firstUse(path: "/nowhere/known", checksHostName: false, acceptsNewKeyAfterExpiry: false)
    guard case .firstUse(let store, let rules, _) = trust.kind else {
      Issue.record("another kind of trust")
      return
    }
    let file = try #require(store as? GeminiKnownHostsFile)
    #expect(file.path == "/nowhere/known")
    #expect(rules.checksDates && !rules.checksHostName && !rules.acceptsNewKeyAfterExpiry)
  }

  @Test("Hosts are added, found, replaced and removed, and comments and other lines are kept")
  func life() async throws {
    let folder = try Folder()
    let store = GeminiKnownHostsFile(path: folder.file)
    #expect(try await store.knownHost(Self.host()) == nil && store.all().isEmpty)
    #expect(try await store.replace(Self.host(), nil, with: Self.known))
    #expect(try folder.text() == "\(Self.header)\n\(Self.line)\n")
    let mode = try FileManager.default.attributesOfItem(atPath: folder.file)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    #expect(try await store.knownHost(Self.host()) == Self.known)
    #expect(try await store.knownHost(Self.host(port: 1966)) == nil)
    try folder.write("\(Self.header)\n# mine\n\n\(Self.line)\r\n")
    #expect(try await store.replace(Self.host("::1", port: 7000), nil, with: Self.known))
    #expect(try await !store.replace(Self.host(), nil, with: Self.known))
    var later = Self.known
    later.expires += 1
    #expect(try await store.replace(Self.host(), Self.known, with: later))
    #expect(
      try folder.text() == """
        \(Self.header)
        # mine

        capsule.example 1965 \(Self.pin) 2027-01-15T08:00:01Z
        ::1 7000 \(Self.pin) 2027-01-15T08:00:00Z

        """)
    #expect(try await store.replace(Self.host(), later, with: nil))
    #expect(try await store.replace(Self.host(), nil, with: nil))
    #expect(try store.all() == [Self.host("::1", port: 7000): Self.known])
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path).sorted() == ["known", "known.lock"])
  }

  static let corrupt: [(String, Int)] = [
    ("nonsense", 1), ("lastro-known-hosts 2\n", 1), ("lastro-known-hosts 1 \n", 1), (" \(header)\n", 1),
    ("\(header)\nx\n", 2), ("\(header)\n\n\(line) more\n", 3), ("\(header)\n\(line)\n\(line)\n", 3),
    ("\(header)\ncapsule.example 0 \(pin) 2027-01-15T08:00:00Z\n", 2),
    ("\(header)\ncapsule.example +1965 \(pin) 2027-01-15T08:00:00Z\n", 2),
    ("\(header)\ncapsule.example -1965 \(pin) 2027-01-15T08:00:00Z\n", 2),
    ("\(header)\ncap sule 1965 \(pin) 2027-01-15T08:00:00Z\n", 2),
    ("\(header)\nhttp://x 1965 \(pin) 2027-01-15T08:00:00Z\n", 2),
    ("\(header)\ncapsule.example 1965 sha256/AAAA 2027-01-15T08:00:00Z\n", 2),
    ("\(header)\ncapsule.example 1965 \(pin) 2027-02-30T08:00:00Z\n", 2),
    ("\(header)\ncapsule.example 1965 \(pin) 2027-01-15\n", 2), ("\(header)\n\(line.dropLast(9))", 2),
  ]

  @Test("A malformed line is reported by number, and the file is left unchanged", arguments: corrupt)
  func corrupted(text: String, line: Int) async throws {
    let folder = try Folder()
    try folder.write(text)
    let store = GeminiKnownHostsFile(path: folder.file)
    let look = await #expect(throws: ConfigurationError.self) {
      try await store.knownHost(Self.host("other.example"))
    }
    #expect(look?.message.contains(line == 1 ? "its first line is not" : "understood: line \(line): ") == true)
    #expect(look?.message.contains("; line") == false && look?.hint?.isEmpty == false)
    await #expect(throws: ConfigurationError.self) {
      try await store.replace(Self.host("other.example"), nil, with: Self.known)
    }
    #expect(try folder.text() == text)
  }

  @Test("A missing directory, a directory in place of the file, and binary data are errors")
  func unusable() async throws {
    let folder = try Folder()
    try Data([0xFF, 0xFE]).write(to: URL(filePath: folder.file))
    for path in [folder.file, folder.path, "", "a\u{0}b", "\(folder.path)/none/known"] {
      let store = GeminiKnownHostsFile(path: path)
      await #expect(throws: ConfigurationError.self, "\(path)") {
        try await store.replace(Self.host(), nil, with: Self.known)
      }
    }
  }

  @Test("Many writers, in one object and in several, lose nothing, and readers never see a partial file")
  func concurrent() async throws {
    let folder = try Folder()
    let stores = [GeminiKnownHostsFile(path: folder.file), GeminiKnownHostsFile(path: folder.file)]
    let count = 40
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<count {
        group.addTask {
          let host = try Self.host("h\(index / 2).example")
          // Two tasks store each host, and one of them wins.
          _ = try await stores[index % 2].replace(host, nil, with: Self.known)
          #expect(try await stores[(index + 1) % 2].knownHost(host) == Self.known)
        }
      }
      try await group.waitForAll()
    }
    #expect(try stores[0].all().count == count / 2)
  }

  @Test("A lock held by another process is waited for up to a limit")
  func locked() async throws {
    let folder = try Folder()
    let lock = try KnownHostsLock("\(folder.file).lock")
    #expect(try lock.acquireIfFree())
    let store = GeminiKnownHostsFile(path: folder.file, lockTimeout: .milliseconds(20))
    let error = await #expect(throws: ConfigurationError.self) {
      try await store.replace(Self.host(), nil, with: Self.known)
    }
    #expect(error?.message.contains("locked") == true)
    let patient = GeminiKnownHostsFile(path: folder.file, lockTimeout: .seconds(3600))
    let work = Task { try await patient.replace(Self.host(), nil, with: Self.known) }
    lock.release()
    #expect(try await work.value)
    #expect(try lock.acquireIfFree())
    let cancelled = Task { try await patient.replace(Self.host(), Self.known, with: nil) }
    cancelled.cancel()
    await #expect(throws: ConfigurationError.self) { try await cancelled.value }
  }

  @Test("A symbolic link stays a link")
  func link() async throws {
    let folder = try Folder()
    try folder.write("\(Self.header)\n")
    let link = "\(folder.path)/link"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: folder.file)
    #expect(try await GeminiKnownHostsFile(path: link).replace(Self.host(), nil, with: Self.known))
    #expect(try folder.text() == "\(Self.header)\n\(Self.line)\n")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == folder.file)
  }

  @Test("Links to a file that does not exist yet stay links too")
  func danglingLink() async throws {
    let folder = try Folder()
    let link = "\(folder.path)/link", middle = "\(folder.path)/middle", circle = "\(folder.path)/circle"
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: middle)
    try FileManager.default.createSymbolicLink(atPath: middle, withDestinationPath: "known")
    let store = GeminiKnownHostsFile(path: link)
    #expect(try await store.knownHost(Self.host()) == nil)
    #expect(try await store.replace(Self.host(), nil, with: Self.known))
    #expect(try folder.text() == "\(Self.header)\n\(Self.line)\n")
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: link) == middle)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: middle) == "known")
    #expect(try await store.knownHost(Self.host()) == Self.known)
    try FileManager.default.createSymbolicLink(atPath: circle, withDestinationPath: "circle")
    await #expect(throws: ConfigurationError.self) {
      try await GeminiKnownHostsFile(path: circle).replace(Self.host(), nil, with: Self.known)
    }
  }

  @Test("A file that cannot be read is not treated as empty")
  func unreadable() async throws {
    // This is a regular file of size zero, whose first page cannot be read (EIO).
    let store = GeminiKnownHostsFile(path: "/proc/self/mem")
    let error = await #expect(throws: ConfigurationError.self) { try await store.knownHost(Self.host()) }
    #expect(error?.message.contains("cannot read") == true)
  }
}
