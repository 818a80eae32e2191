// SPDX-License-Identifier: Apache-2.0

import Foundation
import Lastro
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@testable import LastroEveryday

/// A store that records what is saved, or fails.
private final class MemoryStore: CookieStore {
  let saves = Lock<[[String]]>([])
  let fails = Lock(false)

  func load() throws(ConfigurationError) -> [Cookie] { [Cookie("old", "1", domain: "a.com")] }

  func save(_ cookies: [Cookie]) throws(ConfigurationError) {
    if fails.withLock({ $0 }) { throw ConfigurationError("the disk is full", hint: "make room") }
    saves.withLock { $0.append(cookies.map(\.name)) }
  }
}

@Suite("Cookie stores", .timeLimit(.minutes(15)))
struct CookieStoreTests {
  private static func jar(_ store: any CookieStore, _ clock: ManualClock) throws -> CookieJar {
    try CookieJar(rules: .standard, loading: store, time: clock.timeSource, suffixes: TestJar.suffixes)
  }

  @Test("Changes are saved at once, and then at most once a second")
  func pace() async throws {
    let store = MemoryStore(), clock = ManualClock()
    let jar = try Self.jar(store, clock)
    #expect(store.saves.withLock { $0 } == [])
    try jar.insert(Cookie("a", "1", domain: "a.com"))
    try #require(await eventually { store.saves.withLock { $0 } == [["old", "a"]] })
    for name in ["b", "c", "d"] { try jar.insert(Cookie(name, "1", domain: "a.com")) }
    try #require(await eventually { clock.nextLimit == .seconds(1) })
    #expect(store.saves.withLock { $0.count } == 1)
    clock.advance(by: .milliseconds(999))
    #expect(store.saves.withLock { $0.count } == 1)
    clock.advance(by: .milliseconds(1))
    try #require(await eventually { store.saves.withLock { $0.last } == ["old", "a", "b", "c", "d"] })
    #expect(store.saves.withLock { $0.count } == 2)
  }

  @Test("Setting a cookie is saved; sending or refusing one is not")
  func reasons() async throws {
    let store = MemoryStore(), clock = ManualClock()
    let jar = try Self.jar(store, clock)
    try jar.receive(["x=1; Domain=other.com"], from: "https://a.com/")
    _ = jar.selection(for: try CookieSource(url: "https://a.com/", jar.rules), isUse: true)
    try jar.receive(["a=1"], from: "https://a.com/")
    try #require(await eventually { store.saves.withLock { $0 } == [["old", "a"]] })
  }

  @Test("Save writes at once, and a failed save is reported and repeated at the next change")
  func failure() async throws {
    let store = MemoryStore(), clock = ManualClock()
    let jar = try Self.jar(store, clock)
    store.fails.withLock { $0 = true }
    await #expect(throws: ConfigurationError.self) { try await jar.save() }
    #expect(jar.saveFailure?.message == "the disk is full")
    store.fails.withLock { $0 = false }
    try await jar.save()
    #expect(jar.saveFailure == nil)
    #expect(store.saves.withLock { $0 } == [["old"]])
  }

  @Test("A jar that is released writes pending changes")
  func end() async throws {
    let store = MemoryStore(), clock = ManualClock()
    try await {
      let jar = try Self.jar(store, clock)
      try await jar.save()
      // The pause after a save delays the write of this cookie.
      try jar.insert(Cookie("a", "1", domain: "a.com"))
      try #require(await eventually { clock.nextLimit != nil })
    }()
    #expect(store.saves.withLock { $0.last } == ["old", "a"])
  }

  @Test("A file is replaced as a whole, and only its owner may read it")
  func file() async throws {
    let directory = try PeerDirectory()
    let path = directory.file("cookies.txt")
    try Data("# old\n".utf8).write(to: URL(filePath: path))
    #expect(chmod(path, 0o644) == 0)
    let file = CookieFile(path: path)
    let clock = ManualClock()
    let jar = try Self.jar(file, clock)
    try jar.insert(Cookie("a", "1", domain: "a.com"))
    try await jar.save()
    var status = stat()
    #expect(stat(path, &status) == 0 && status.st_mode & 0o777 == 0o600)
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["cookies.txt"])
    #expect(try Self.jar(file, clock).cookies.map(\.name) == ["a"])
    #expect(try CookieFile(path: directory.file("none")).load() == [])
  }

  @Test("A jar made with a path loads the file's cookies by its rules and its clock, and saves to the file")
  func path() async throws {
    let directory = try PeerDirectory()
    let path = directory.file("cookies.txt")
    // The second cookie expires a minute after the start of the manual clock, in 2001.
    let text = "a.com\tFALSE\t/\tFALSE\t0\ta\t1\na.com\tFALSE\t/\tFALSE\t1000000060\tb\t2\n"
    try Data(text.utf8).write(to: URL(filePath: path))
    let jar = try CookieJar(path: path, treatsLoopbackAsSecure: true, time: ManualClock().timeSource)
    #expect(jar.rules == CookieRules(acceptsNameless: false, treatsLoopbackAsSecure: true))
    #expect(jar.cookies.map(\.name) == ["a", "b"])
    try jar.insert(Cookie("c", "3", domain: "a.com"))
    try await jar.save()
    #expect(try CookieFile(path: path).load().map(\.name) == ["a", "b", "c"])
    #expect(try CookieJar(path: path).cookies.map(\.name) == ["a", "c"])
  }

  @Test("A file beyond the readable size is not written, and a child process inherits no descriptor of it")
  func bounds() throws {
    let directory = try PeerDirectory()
    let file = CookieFile(path: directory.file("cookies.txt"))
    let cookie = Cookie("a", "1", domain: "a.com")
    try file.save([cookie])
    let large = String(repeating: "v", count: PrivateFile.maximumBytes + 1)
    #expect(throws: PrivateFile.Failure.self) { try PrivateFile(file.path).replace(with: large) }
    #expect(try file.load() == [cookie])
    let neighbor = try PrivateFile(file.path).neighbor()
    defer { close(neighbor.descriptor) }
    #expect(fcntl(neighbor.descriptor, F_GETFD) & FD_CLOEXEC != 0)
  }

  @Test("Temporary files of a killed process are removed when the file is read or written again")
  func leftover() throws {
    let directory = try PeerDirectory()
    let file = CookieFile(path: directory.file("cookies.txt"))
    let cookie = Cookie("a", "1", domain: "a.com")
    func leave() throws -> (name: String, descriptor: Int32) {
      let neighbor = try PrivateFile(file.path).neighbor()
      #expect(write(neighbor.descriptor, "sid=swordfish", 13) == 13)
      return neighbor
    }
    // Closing the descriptor releases the lock, as the end of a process does.
    close(try leave().descriptor)
    try file.save([cookie])
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["cookies.txt"])
    close(try leave().descriptor)
    #expect(try file.load() == [cookie])
    #expect(try FileManager.default.contentsOfDirectory(atPath: directory.path) == ["cookies.txt"])
    // A file that another process is writing is kept, and does not block a save.
    let written = try leave()
    defer { close(written.descriptor) }
    try file.save([])
    #expect(try file.load() == [])
    #expect(FileManager.default.contents(atPath: written.name) == Data("sid=swordfish".utf8))
    // A symbolic link with the same name does not redirect the cookies.
    unlink(written.name)
    #expect(symlink(directory.file("elsewhere"), written.name) == 0)
    try file.save([cookie])
    #expect(!FileManager.default.fileExists(atPath: directory.file("elsewhere")))
  }

  @Test("A file that is not a cookie file is refused and left unchanged")
  func unfit() throws {
    let directory = try PeerDirectory()
    let path = directory.file("notes")
    for content in [Data("export PATH=/bin\n".utf8), Data([0xFF, 0xFE, 0x0A])] {
      try content.write(to: URL(filePath: path))
      #expect(throws: ConfigurationError.self) { try Self.jar(CookieFile(path: path), ManualClock()) }
      #expect(try Data(contentsOf: URL(filePath: path)) == content)
    }
    #expect(mkfifo(directory.file("pipe"), 0o600) == 0)
    for path in [directory.path, directory.file("pipe"), "", "a\0b"] {
      #expect(throws: ConfigurationError.self) { try CookieFile(path: path).load() }
    }
    #expect(throws: ConfigurationError.self) { try CookieFile(path: directory.file("pipe")).save([]) }
    var status = stat()
    #expect(stat(directory.file("pipe"), &status) == 0 && status.st_mode & S_IFMT == S_IFIFO)
    let error = #expect(throws: ConfigurationError.self) { try CookieFile(path: directory.file("no/such")).save([]) }
    #expect(error?.message.contains("cannot make a file beside") == true)
    // A directory that is not empty cannot be replaced, and no file is left beside it.
    #expect(throws: ConfigurationError.self) { try CookieFile(path: directory.path).save([]) }
  }
}
