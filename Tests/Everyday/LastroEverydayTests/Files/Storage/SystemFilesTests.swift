// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Lastro
import Testing

@testable import LastroEveryday

@Suite("Files of the operating system", .timeLimit(.minutes(15)))
struct SystemFilesTests {
  private let files = SystemFiles()

  private static func code(_ operation: () throws(FileFailure) -> Void) -> Int32 {
    do throws(FileFailure) {
      try operation()
      return 0
    } catch {
      return error.code
    }
  }

  @Test("Bytes are read and written at offsets, and a file is truncated and extended")
  func bytes() throws {
    let folder = try TemporaryFolder()
    let file = try files.open(folder.file("a"), .keeping)
    try file.write(Data("hello".utf8), at: 3)
    #expect(try file.read(upTo: 100, at: 0) == Data([0, 0, 0] + Array("hello".utf8)))
    #expect(try file.read(upTo: 2, at: 4) == Data("el".utf8))
    #expect(try file.read(upTo: 2, at: 8).isEmpty)
    try file.resize(to: 5)
    try file.sync()
    #expect(try file.status().length == 5)
    try file.reserve(1 << 20)
    #expect(try file.status().length == 1 << 20)
    try files.syncFolder(of: folder.file("a"))
    // The contents are kept when the file is opened again, and removed when it is replaced.
    #expect(try files.open(folder.file("a"), .keeping).status().length == 1 << 20)
    #expect(try files.open(folder.file("a"), .replacing).status().length == 0)
  }

  @Test("The state is readable by its owner only")
  func mode() throws {
    let folder = try TemporaryFolder()
    _ = try files.open(folder.file("state"), .replacing)
    var status = stat()
    #expect(stat(folder.file("state"), &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test(
    "A symbolic link, a folder and a pipe are not opened",
    arguments: [FileUse.reading, .keeping, .replacing])
  func notRegular(use: FileUse) throws {
    let folder = try TemporaryFolder()
    _ = try files.open(folder.file("real"), .keeping)
    #expect(symlink(folder.file("real"), folder.file("link")) == 0)
    #expect(Self.code { () throws(FileFailure) in _ = try files.open(folder.file("link"), use) } == ELOOP)
    #expect(mkfifo(folder.file("pipe"), 0o600) == 0)
    #expect(Self.code { () throws(FileFailure) in _ = try files.open(folder.file("pipe"), use) } != 0)
    #expect(Self.code { () throws(FileFailure) in _ = try files.open(folder.path, use) } != 0)
    #expect(Self.code { () throws(FileFailure) in _ = try files.open(folder.file("a\0b"), use) } == EINVAL)
    #expect(try files.status(of: folder.file("link"))?.isRegular == false)
    #expect(try files.status(of: folder.file("link"))?.isLink == true)
    #expect(try files.status(of: folder.path)?.isFolder == true)
    #expect(try files.status(of: folder.file("absent")) == nil)
  }

  @Test("A download replaces a symbolic link, but no folder or pipe, and leaves nothing beside them")
  func targets() throws {
    let folder = try TemporaryFolder()
    #expect(mkfifo(folder.file("pipe"), 0o600) == 0 && mkdir(folder.file("folder"), 0o700) == 0)
    #expect(symlink("absent", folder.file("link")) == 0)
    for (name, code) in [("pipe", ENOTSUP), ("folder", EISDIR), ("link", 0)] {
      let found = Self.code { () throws(FileFailure) in
        _ = try PartFile(folder.file(name), source: "a", replaces: true, in: files)
      }
      #expect(found == code && (access(folder.file("\(name).part"), F_OK) == 0) == (code == 0), "\(name)")
    }
  }

  @Test("One open file holds the lock until it is closed")
  func lock() throws {
    let folder = try TemporaryFolder()
    var first: (any OpenFile)? = try files.open(folder.file("a"), .keeping)
    #expect(try first?.lock() == true)
    let second = try files.open(folder.file("a"), .keeping)
    #expect(try second.lock() == false)
    first = nil
    #expect(try second.lock())
  }

  @Test("A second name is refused if the file exists, and removing a missing file is not a failure")
  func names() throws {
    let folder = try TemporaryFolder()
    _ = try files.open(folder.file("a"), .keeping)
    #expect(try files.link(folder.file("a"), as: folder.file("b")))
    #expect(try files.status(of: folder.file("a"))?.names == 2)
    #expect(
      Self.code { () throws(FileFailure) in _ = try files.link(folder.file("a"), as: folder.file("b")) } == EEXIST)
    try files.rename(folder.file("a"), to: folder.file("c"))
    try files.remove(folder.file("a"))
    try files.remove(folder.file("a"))
    #expect(Self.code { () throws(FileFailure) in try files.rename(folder.file("a"), to: folder.file("b")) } == ENOENT)
  }

  @Test("A download replaces a symbolic link and keeps its target; a link in place of a part is refused")
  func links() async throws {
    let folder = try TemporaryFolder()
    let origin = RangeOrigin(bytes: 5_000)
    try Data("precious".utf8).write(to: URL(filePath: folder.file("real")))
    #expect(symlink(folder.file("real"), folder.file("file")) == 0)
    try await origin.download(to: folder.file("file"), in: files) { $0.replaces = true }
    #expect(try Data(contentsOf: URL(filePath: folder.file("file"))) == origin.content)
    #expect(try Data(contentsOf: URL(filePath: folder.file("real"))) == Data("precious".utf8))
    for name in ["other.part", "another.part.json"] {
      #expect(symlink(folder.file("real"), folder.file(name)) == 0)
    }
    for name in ["other", "another"] {
      await #expect(throws: HTTPFetchError<any Error>.self) {
        try await origin.download(to: folder.file(name), in: files)
      }
    }
    #expect(try Data(contentsOf: URL(filePath: folder.file("real"))) == Data("precious".utf8))
  }

  @Test("A part with a second hard link is not written to, because it may be a completed file")
  func secondName() async throws {
    let folder = try TemporaryFolder()
    try Data("precious".utf8).write(to: URL(filePath: folder.file("real")))
    #expect(try files.link(folder.file("real"), as: folder.file("file.part")))
    let origin = RangeOrigin(bytes: 5_000)
    try await origin.download(to: folder.file("file"), in: files)
    #expect(try Data(contentsOf: URL(filePath: folder.file("real"))) == Data("precious".utf8))
    #expect(try Data(contentsOf: URL(filePath: folder.file("file"))) == origin.content)
  }

  @Test("A missing folder, and a folder at the path, are refused before anything is sent")
  func folders() async throws {
    let folder = try TemporaryFolder()
    let origin = RangeOrigin(bytes: 10)
    for path in [folder.file("absent/file"), folder.path] {
      await #expect(throws: HTTPFetchError<any Error>.self) {
        try await origin.download(to: path, in: files) { $0.replaces = true }
      }
    }
    #expect(origin.requests.isEmpty)
  }
}

/// A folder that is removed at the end of the test.
final class TemporaryFolder: Sendable {
  let path: String

  init() throws {
    path = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path
    try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
  }

  deinit { try? FileManager.default.removeItem(atPath: path) }

  func file(_ name: String) -> String { path + "/" + name }
}
