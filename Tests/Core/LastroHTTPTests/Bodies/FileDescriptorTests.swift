// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import TestSupport
import Testing

@testable import LastroHTTP

@Suite("Open body file", .timeLimit(.minutes(15)))
struct FileDescriptorTests {
  /// - Parameter isWritten: whether the pipe has a writer from the start. Without one, opening waits; with one, reading
  ///   does.
  @Test("A signal does not interrupt opening or reading a file", arguments: [false, true])
  func signals(isWritten: Bool) async throws {
    let path = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path
    try #require(mkfifo(path, 0o600) == 0)
    defer { unlink(path) }
    var writer = isWritten ? open(path, O_RDWR) : -1
    defer { close(writer) }
    let data = try await interrupting {
      try FileDescriptor(reading: path).read(upTo: 3)
    } release: {
      if writer < 0 { writer = open(path, O_RDWR) }
      #expect(write(writer, "abc", 3) == 3)
    }
    #expect(data == Data("abc".utf8))
  }
}
