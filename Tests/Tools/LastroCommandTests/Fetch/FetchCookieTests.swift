// SPDX-License-Identifier: Apache-2.0

import Foundation
import PeerSupport
import TestSupport
import Testing

@Suite("lastro fetch: cookies", .peers(.python), .timeLimit(.minutes(15)))
struct FetchCookieTests {
  /// Returns the cookies that the Python server read from the request.
  private func seen(_ flags: [String], _ path: String = "/cookies/a") async throws -> [String: String] {
    let result = try await Lastro.run(["fetch"] + flags + ["http://127.0.0.1:\(try Peers.python.port)\(path)"])
    #expect(result.status == 0, "\(result.errors)")
    return try #require(try result.json()["cookies"] as? [String: String])
  }

  @Test("-c writes a server's cookies and -b reads them; a missing file is created for its owner only")
  func file() async throws {
    let directory = try PeerDirectory()
    let file = directory.file("jar")
    #expect(try await seen(["-b", file, "-c", file]) == [:])
    #expect(try await seen(["-b", file, "--cookie-jar", file]) == ["visits": "1", "place": "/cookies/a"])
    #expect(try await seen(["--cookie", file], "/cookies/b") == ["visits": "2", "place": "/cookies/a"])
    #expect(try await seen(["--cookie", file], "/cookies/b")["visits"] == "2")
    let lines = directory.text(of: "jar").split(separator: "\n").filter { !$0.hasPrefix("# ") }
    #expect(lines.count == 2)
    #expect(lines.contains { $0.hasPrefix("#HttpOnly_127.0.0.1\tFALSE\t/cookies\tFALSE\t") })
    var status = stat()
    #expect(stat(file, &status) == 0 && status.st_mode & 0o777 == 0o600)
  }

  @Test("-b accepts cookies as text; with a jar they are sent with its cookies and not written")
  func text() async throws {
    let directory = try PeerDirectory()
    #expect(try await seen(["-b", "a=1; b=x=y", "-b", "c=3"]) == ["a": "1", "b": "x=y", "c": "3"])
    #expect(try await seen(["-b", "a=1; ;", "-c", directory.file("jar")]) == ["a": "1"])
    #expect(!directory.text(of: "jar").contains("\ta\t1"))
    #expect(directory.text(of: "jar").contains("\tvisits\t1"))
    #expect(try await seen(["-b", "a=1", "-H", "Cookie: mine=2"]) == ["mine": "2"])
    let prefixed = ["-b", "__Host-a=1; __Secure-b=2", "-c", directory.file("jar")]
    #expect(try await seen(prefixed) == ["__Host-a": "1", "__Secure-b": "2"])
    #expect(!directory.text(of: "jar").contains("__"))
  }

  @Test("An empty -b keeps cookies without a file, and -c - writes to standard output")
  func standardOutput() async throws {
    #expect(try await seen(["-b", ""]) == [:])
    let url = "http://127.0.0.1:\(try Peers.python.port)/cookies/a"
    let result = try await Lastro.run(["fetch", "-c", "-", "-o", "/dev/null", url])
    #expect(result.status == 0 && result.text.contains("\tvisits\t1"))
  }

  @Test("A file that is not a cookie file is refused, and one that cannot be written is reported")
  func refused() async throws {
    let directory = try PeerDirectory()
    let notes = try directory.write("export PATH=/bin\n", to: "notes")
    let url = "http://127.0.0.1:\(try Peers.python.port)/cookies/a"
    let read = try await Lastro.run(["fetch", "-b", notes, url])
    #expect(read.status == 3 && read.errors.contains("line 1 of \(notes) has 1 field, and not 7"))
    let written = try await Lastro.run(["fetch", "-c", directory.file("no/such"), url])
    #expect(written.status == 1 && written.errors.contains("cannot make a file beside"))
  }
}
