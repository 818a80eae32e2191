// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

/// Tests of command lines with several URLs, and of flags for files, with the program.
@Suite("lastro fetch: several URLs and their files", .timeLimit(.minutes(15)))
struct FetchLineTests {
  private func server() throws -> LoopbackServer {
    try LoopbackServer.http { request in
      switch request.path {
      case "/404": .text("gone\n", status: 404)
      case "/json": .json(#"{"a":[1]}"#)
      case "/named":
        LoopbackResponse.text("named").adding(
          "Content-Disposition", #"attachment; filename="../offered.txt""#)
      case "/dated":
        request.head["If-None-Match"] == "\"1\""
          ? LoopbackResponse(status: 304)
          : LoopbackResponse.text("dated").adding("ETag", "\"1\"")
            .adding("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
      default: .text("\(request.method) \(request.target) \(request.text)\n")
      }
    }
  }

  /// Returns a server that answers no request before a number of requests have arrived.
  private func server(awaiting count: Int) throws -> LoopbackServer {
    let gate = try LoopbackGate()
    let arrived = Lock(0)
    return try LoopbackServer { connection in
      try connection.serveHTTP { request in
        let isLast = arrived.withLock { number in
          number += 1
          return number == count
        }
        if isLast { gate.open() }
        connection.wait(for: gate)
        return .text("\(request.method) \(request.target) \n")
      }
    }
  }

  @Test(
    "Several URLs go to their files in order, and the rest to standard output; with -Z all are under way together",
    arguments: [[], ["-Z"]])
  func files(flags: [String]) async throws {
    let server = try flags.isEmpty ? server() : server(awaiting: 4)
    let directory = try PeerDirectory()
    let urls = ["/a/one", "/a/two", "/three", "/four"].map { server.baseURL + $0 }
    let result = try await Lastro.run(
      flags + ["-m", "60", "-O", urls[0], "-o", "second", urls[1], urls[2], urls[3]], folder: directory.file("")
    )
    #expect(result.status == 0 && result.errors.isEmpty, "\(result.errors)")
    #expect(Set(result.lines) == ["GET /three ", "GET /four "], "\(result.text)")
    #expect(
      directory.text(of: "one") == "GET /a/one \n"
        && directory.text(of: "second") == "GET /a/two \n")
  }

  @Test("--next begins a request with options of its own, and -w counts the URLs")
  func next() async throws {
    let server = try server()
    let result = try await Lastro.run([
      "post", server.baseURL + "/a", "-d", "x", "-w", "%{urlnum} %{size_upload}\\n", "--next",
      server.baseURL + "/b",
      "-w", "%{urlnum} %{http_code}\\n",
    ])
    #expect(result.text == "POST /a x\n0 1\nGET /b \n1 200\n", "\(result.text) \(result.errors)")
  }

  @Test("Every URL gets the body that comes from standard input")
  func input() async throws {
    let server = try server()
    let result = try await Lastro.run(
      ["fetch", "-d", "@-", server.baseURL + "/a", server.baseURL + "/b"], input: "typed")
    #expect(result.text == "POST /a typed\nPOST /b typed\n", "\(result.text) \(result.errors)")
  }

  @Test("The exit status is that of the first failure; --fail-early ends there")
  func failures() async throws {
    let server = try server()
    let urls = [server.baseURL + "/404", "http://127.0.0.1:1/", server.baseURL + "/last"]
    for flags in [[], ["-Z"]] {
      let all = try await Lastro.run(["fetch", "-s"] + flags + urls)
      #expect(all.status == 22 && all.text.contains("GET /last"), "\(all.text)")
    }
    let early = try await Lastro.run(["fetch", "-s", "--fail-early"] + urls)
    #expect(early.status == 22 && early.text == "gone\n")
  }

  @Test("-K reads options and URLs from a file; --pretty indents JSON")
  func config() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let file = try directory.write(
      "url = \"\(server.baseURL)/json\"\npretty\nnext\nurl=\(server.baseURL)/b\n", to: "rc")
    let result = try await Lastro.run(["fetch", "-K", file])
    #expect(
      result.text == "{\n  \"a\": [\n    1\n  ]\n}\nGET /b \n", "\(result.text) \(result.errors)")
    let missing = try await Lastro.run(["fetch", "-K", "/nowhere/rc"])
    #expect(
      missing.status == 3 && missing.errors.contains("-K: the file /nowhere/rc cannot be read"),
      "\(missing.errors)")
  }

  @Test("-J takes the offered name, and keeps a file that is there")
  func offered() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let words = ["fetch", "-OJ", server.baseURL + "/named"]
    #expect(try await Lastro.run(words, folder: directory.file("")).status == 0)
    #expect(directory.text(of: "offered.txt") == "named")
    let again = try await Lastro.run(words, folder: directory.file(""))
    #expect(again.status == 1 && again.errors.contains("offered.txt"), "\(again.errors)")
    #expect(
      try FileManager.default.contentsOfDirectory(atPath: directory.file("")) == ["offered.txt"])
  }

  @Test("--etag-save and --etag-compare fetch once; -R keeps the server's date, which -z sends")
  func conditions() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let words = [
      "fetch", "-R", "--etag-save", "tag", "--etag-compare", "tag", "-z", "out", "-o", "out",
      server.baseURL + "/dated",
    ]
    let first = try await Lastro.run(words, folder: directory.file(""))
    #expect(first.status == 0 && first.errors.contains("without a condition"), "\(first.errors)")
    #expect(directory.text(of: "tag") == "\"1\"\n" && directory.text(of: "out") == "dated")
    let date =
      try FileManager.default.attributesOfItem(atPath: directory.file("out"))[.modificationDate]
      as? Date
    #expect(date?.timeIntervalSince1970 == 1_767_225_600)
    #expect(try await Lastro.run(words, folder: directory.file("")).status == 0)
    let last = try #require(server.requests.last)
    #expect(
      last.head["If-None-Match"] == "\"1\""
        && last.head["If-Modified-Since"] == "Thu, 01 Jan 2026 00:00:00 GMT")
    #expect(directory.text(of: "out") == "dated")
  }

  @Test("The number of a descriptor has no sign")
  func descriptors() async throws {
    let server = try server()
    let plain = try await Lastro.run(["fetch", "-s", "-o", "/dev/fd/1", server.baseURL + "/a"])
    #expect(plain.status == 0 && plain.text == "GET /a \n", "\(plain.errors)")
    let signed = try await Lastro.run(["fetch", "-s", "-o", "/dev/fd/+1", server.baseURL + "/a"])
    #expect(signed.status != 0 && signed.text.isEmpty, "\(signed.errors)")
  }

  @Test("-k accepts any certificate of this machine, and no redirect to a host elsewhere")
  func insecure() async throws {
    let identity = try CertificateMint.selfSigned(hosts: ["other.test"])
    let server = try LoopbackServer.http(tls: LoopbackTLS(identity)) { request in
      request.path == "/away"
        ? LoopbackResponse(
          status: 302,
          headers: [
            "Location":
              "https://other.test:\(request.head["Host"]?.split(separator: ":").last ?? "")/"
          ])
        : .text("in")
    }
    let url = "https://127.0.0.1:\(server.port)"
    let checked = try await Lastro.run(["fetch", url])
    #expect(checked.status == 35 && checked.errors.contains("-k accepts"), "\(checked.errors)")
    let accepted = try await Lastro.run(["fetch", "-k", url])
    #expect(accepted.status == 0 && accepted.text == "in", "\(accepted.errors)")
    let mapping = "other.test:\(server.port):127.0.0.1"
    let mapped = try await Lastro.run([
      "fetch", "-k", "--resolve", mapping, "https://other.test:\(server.port)/",
    ])
    #expect(mapped.status == 0 && mapped.text == "in", "\(mapped.errors)")
    let away = try await Lastro.run(["fetch", "-k", "--max-redirs", "1", "-m", "20", url + "/away"])
    #expect(away.status != 0 && !away.text.contains("in"), "\(away.errors)")
  }

  @Test("--har writes all exchanges of the line, without secrets; --limit-rate takes all of a body")
  func archive() async throws {
    let server = try server()
    let directory = try PeerDirectory()
    let result = try await Lastro.run(
      [
        "fetch", "--har", "a.har", "--limit-rate", "1M", "--bearer", "hush", server.baseURL + "/a",
        "--next", server.baseURL + "/b",
      ],
      folder: directory.file(""))
    #expect(result.text == "GET /a \nGET /b \n", "\(result.errors)")
    let text = directory.text(of: "a.har")
    #expect(
      text.contains("\(server.baseURL)/a") && text.contains("\(server.baseURL)/b")
        && !text.contains("hush"), "\(text)")
  }
}
