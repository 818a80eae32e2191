// SPDX-License-Identifier: Apache-2.0

import Foundation
import Glibc
import Lastro
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro proxy", .timeLimit(.minutes(15)))
struct ProxyTests {
  private let directory: PeerDirectory

  init() throws { directory = try PeerDirectory() }

  @Test("Python's requests reach the API and are recorded with secrets masked, and mock serves the record")
  func records() async throws {
    let api = try LoopbackServer.http { request in
      switch request.path {
      case "/base/moved": LoopbackResponse(status: 302, headers: ["Location": "/base/next"])
      case "/base/echo":
        .json(
          #"{"got":"\#(request.method) \#(request.text) \#(request.queryItem("q") ?? "")","token":"issued-secret"}"#)
      default: .text("missing", status: 404)
      }
    }
    let file = directory.file("session.har")
    let server = try await RunningServer(["proxy", api.baseURL + "/base/", "--har", file])
    let program = """
      import http.client, json, sys
      def get(connection, method, path, body=None, headers={}):
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        return answer.status, answer.getheader("Location"), answer.read().decode()
      connection = http.client.HTTPConnection("127.0.0.1", int(sys.argv[1]), timeout=60)
      secret = {"Authorization": "Bearer header-secret", "Accept-Encoding": "gzip"}
      status, _, text = get(connection, "PUT", "/echo?q=1", "body", secret)
      assert json.loads(text)["got"] == "PUT body 1", text
      chunks = (part for part in (b"two ", b"parts"))
      assert json.loads(get(connection, "POST", "/echo", chunks)[2])["got"] == "POST two parts "
      assert get(connection, "GET", "/moved")[:2] == (302, "/next")
      assert get(connection, "GET", "/nowhere") == (404, None, "missing")
      assert get(connection, "HEAD", "/echo") == (200, None, "")
      print("fine")
      """
    let result = try await Lastro.run(["-c", program, "\(server.port)"], program: "/usr/bin/python3")
    #expect(result.text == "fine\n", "\(result.errors) \(server.errors)")
    #expect(api.requests.first?.headers["Authorization"] == "Bearer header-secret")
    #expect(api.requests.count == 5)
    #expect(try await server.stop() == 0)
    let text = directory.text(of: "session.har")
    #expect(!text.contains("-secret") && text.contains("PUT body 1"), "\(text)")
    let mode = try FileManager.default.attributesOfItem(atPath: file)[.posixPermissions] as? NSNumber
    #expect(mode?.intValue == 0o600)
    let mock = try await RunningServer(["mock", file])
    let replayed = try await mock.curl("-X", "PUT", mock.url + "/base/echo?q=1")
    #expect(replayed.text == #"{"got":"PUT body 1","token":"***"}"#)
    #expect(try await mock.stop() == 0)
  }

  @Test("A coded upload arrives as it was sent, and fields that Connection names do not pass, in either direction")
  func fields() async throws {
    let api = try LoopbackServer.http { request in
      LoopbackResponse(
        headers: ["Connection": "X-Drop", "X-Drop": "1", "X-Kept": request.headers["X-Hop"] ?? "none"],
        body: Array(request.text.utf8))
    }
    let server = try await RunningServer(["proxy", api.baseURL])
    let flags = ["Content-Encoding: gzip", "Connection: close, X-Hop", "X-Hop: 1"].flatMap { ["-H", $0] }
    let result = try await Lastro.run(
      ["-sS", "-i", "-d", "coded"] + flags + [server.url + "/"], program: "/usr/bin/curl")
    #expect(result.text.hasSuffix("\r\n\r\ncoded") && result.text.contains("X-Kept: none"), "\(result.text)")
    #expect(!result.text.contains("X-Drop"))
    #expect(api.requests.map { $0.headers["Content-Encoding"] } == ["gzip"])
    #expect(try await server.stop() == 0)
  }

  @Test("A redirect below the base URL stays at the proxy, and any other leads where the API meant")
  func redirects() async throws {
    let api = try LoopbackServer.http { request in
      let here = "http://\(request.headers["Host"] ?? "")"
      let places = [
        "/base/next", here + "/base/next?q=1#top", "further", "/base", "/based/next", "/base/../next",
        "/base//evil.example/", "https://other.example/base/next",
      ]
      let number = Int(request.pathSegments.last ?? "") ?? 0
      return LoopbackResponse(status: 302, headers: ["Location": places[number]])
    }
    let server = try await RunningServer(["proxy", api.baseURL + "/base"])
    var seen: [String] = []
    for number in 0..<8 { seen.append(try await server.location("/a/\(number)")) }
    #expect(
      seen == [
        "/next", "/next?q=1#top", "/a/further", "/", api.baseURL + "/based/next", api.baseURL + "/next",
        "/.//evil.example/", "https://other.example/base/next",
      ])
    #expect(try await server.stop() == 0)
  }

  @Test("Requests of browsers for pages of other hosts are refused", arguments: Crossing.allCases)
  func crossing(_ crossing: Crossing) async throws {
    let api = try LoopbackServer.http { _ in .text("fine") }
    let server = try await RunningServer(["proxy", api.baseURL])
    let text = try crossing.send(to: server)
    #expect(text.hasPrefix(crossing.isAllowed ? "HTTP/1.1 200 " : "HTTP/1.1 403 "), "\(text)")
    #expect(api.requests.count == (crossing.isAllowed ? 1 : 0))
    #expect(try await server.stop() == 0)
  }

  @Test("The exchange of a client that has left ends, although the API is silent")
  func leaving() async throws {
    let api = try LoopbackServer { connection in
      _ = try connection.readRequest()
      connection.stall()
    }
    let server = try await RunningServer(["proxy", api.baseURL])
    do {
      let client = try LoopbackClient(to: .port(server.port))
      try client.send("GET / HTTP/1.1\r\nHost: localhost\r\n\r\n")
      try await api.waitForRequests(count: 1)
      client.halfClose()
    }
    #expect(await eventually { api.openConnections == 0 })
    #expect(try await server.stop() == 0)
  }

  @Test("A proxy that cannot start leaves the earlier recording")
  func keepsRecording() async throws {
    let file = try directory.write("earlier", to: "session.har")
    let other = try LoopbackServer.http { _ in .text("") }
    let taken = try await Lastro.run(["proxy", "http://localhost:1", "--har", file, "--port", "\(other.port)"])
    #expect(taken.status == 1 && directory.text(of: "session.har") == "earlier")
  }

  @Test("A stream of events arrives while the API still sends, and is recorded")
  func streams() async throws {
    let api = try LoopbackServer { connection in
      _ = try connection.readRequest()
      try connection.write(
        "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n"
          + "9\r\ndata: 1\n\n\r\n")
      connection.stall()
    }
    let file = directory.file("events.har")
    let server = try await RunningServer(["proxy", api.baseURL, "--har", file])
    let client = try LoopbackClient(to: .port(server.port))
    try client.send("GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
    #expect(client.receive(until: "data: 1\n\n\r\n").contains("text/event-stream"))
    // A transfer that never ends does not keep the program from ending.
    #expect(try await server.stop(SIGTERM) == 0)
    #expect(directory.text(of: "events.har").contains("text/event-stream"))
  }

  @Test("Delays, cuts and failures apply to the forwarded responses, and their requests are sent once")
  func faults() async throws {
    let api = try LoopbackServer.http { _ in .text("0123456789") }
    func status(_ flags: [String], _ words: String...) async throws -> String {
      let server = try await RunningServer(["proxy", api.baseURL] + flags)
      let result = try await Lastro.run(["-sS"] + words + [server.url + "/a"], program: "/usr/bin/curl")
      #expect(try await server.stop() == 0)
      return "\(result.text)/\(result.status)"
    }
    #expect(try await status(["--cut-after", "4"]) == "0123/18")
    #expect(try await status(["--cut-after", "1KiB", "--delay", "1ms"]) == "0123456789/0")
    #expect(try await status(["--cut-after", "10"]) == "0123456789/0")
    #expect(api.requests.count == 3)
    #expect(try await status(["--fail", "100%"], "-w", "%{http_code}") == "503/0")
    #expect(try await status(["--fault", "POST *: reset"], "-d", "a") != "/0")
    #expect(api.requests.count == 3)
    #expect(try await status(["--fail", "0%", "--fault", "GET /b: reset"]) == "0123456789/0")
  }

  @Test("An API that cannot be reached, and one whose body breaks off, do not end the proxy")
  func brokenAPI() async throws {
    let api = try LoopbackServer.http { request in
      request.path == "/cut"
        ? LoopbackResponse(body: Array("0123456789".utf8), fault: .truncateBody(after: 4)) : .text("whole")
    }
    let server = try await RunningServer(["proxy", api.baseURL])
    let cut = try await server.curl(server.url + "/cut")
    #expect(cut.status == 18)
    #expect(try await server.curl(server.url + "/").text == "whole")
    api.stop()
    let refused = try await server.curl("-w", " %{http_code}", server.url + "/")
    #expect(refused.text.hasSuffix(" 502") && refused.text.contains("connect"), "\(refused.text)")
    #expect(try await server.stop() == 0)
  }

  @Test("The proxy listens on loopback only, and refuses targets that are not paths")
  func loopback() async throws {
    let api = try LoopbackServer.http { _ in .text("whole") }
    let server = try await RunningServer(["proxy", api.baseURL])
    // A socket of all addresses would accept a connection to this one, too. curl's status 7: it cannot connect.
    #expect(try await server.curl("http://127.0.0.2:\(server.port)/").status == 7)
    for line in ["GET http://other.example/ HTTP/1.1", "CONNECT other.example:443 HTTP/1.1", "OPTIONS * HTTP/1.1"] {
      let client = try LoopbackClient(to: .port(server.port))
      try client.send(line + "\r\nHost: localhost\r\n\r\n")
      #expect(client.receiveAll().text.hasPrefix("HTTP/1.1 400 "))
    }
    #expect(api.requests.isEmpty)
    #expect(try await server.stop() == 0)
  }

  @Test("Command lines that cannot work are refused with a hint")
  func refused() async throws {
    for (flags, words) in [
      (["--delay", "soon"], "a duration such as 200ms"), (["--cut-after", "-1"], "a number of bytes such as 10KiB"),
      (["--fail", "5"], "a percentage such as 5%"), (["--fault", "GET"], "write it like"),
    ] {
      let result = try await Lastro.run(["proxy", "http://localhost:1"] + flags.prefix(1).map { "\($0)=\(flags[1])" })
      #expect(result.status == 64 && result.errors.contains(words), "\(flags) \(result.errors)")
    }
    let unwritable = try await Lastro.run(["proxy", "http://localhost:1", "--har", "/nowhere/a.har"])
    #expect(unwritable.status == 1 && unwritable.errors.contains("cannot write /nowhere/a.har"))
    let scheme = try await Lastro.run(["proxy", "ftp://localhost"])
    #expect(scheme.status != 0 && scheme.errors.contains("unsupported_scheme"), "\(scheme.errors)")
  }
}
