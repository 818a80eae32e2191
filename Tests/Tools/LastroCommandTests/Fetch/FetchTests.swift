// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import PeerSupport
import TestSupport
import Testing

@Suite("lastro fetch", .peers(.nginx, .python), .timeLimit(.minutes(15)))
struct FetchTests {
  private func nginx(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.nginx.ports.plain)\(path)" }
  private func secure(_ path: String) throws -> String { "https://localhost:\(try Peers.nginx.ports.tls)\(path)" }
  private func python(_ path: String) throws -> String { "http://127.0.0.1:\(try Peers.python.port)\(path)" }

  private func echo(_ flags: [String]) async throws -> (echo: [String: Any], headers: [String: String]) {
    let result = try await Lastro.run(["fetch"] + flags + [python("/echo")])
    #expect(result.status == 0, "\(result.errors)")
    let json = try result.json()
    let pairs = try #require(json["headers"] as? [[String]]).map { ($0[0].lowercased(), $0[1]) }
    return (json, Dictionary(pairs) { first, _ in first })
  }

  @Test("The body is written to standard output byte for byte, and nothing to standard error")
  func body() async throws {
    let result = try await Lastro.run(["fetch", nginx("/files/1m")])
    #expect(result.status == 0)
    #expect(result.output == Data((0..<1024 * 1024).map { UInt8($0 % 251) }))
    #expect(result.errors == "")
  }

  @Test("-o writes to a file, and one that cannot be written has exit status 1")
  func output() async throws {
    let directory = try PeerDirectory()
    let result = try await Lastro.run(["fetch", "-o", directory.file("out"), nginx("/json")])
    #expect(result.status == 0)
    #expect(result.output.isEmpty)
    #expect(directory.text(of: "out") == #"{"message":"hello"}"#)
    let refused = try await Lastro.run(["fetch", "-o", directory.file("no/such/out"), nginx("/json")])
    #expect(refused.status == 1)
    #expect(refused.errors.contains("cannot write"))
  }

  @Test("-X, -H, --bearer and -u determine the request")
  func request() async throws {
    let (echo, headers) = try await echo(["-X", "OPTIONS", "-H", "X-Test: a b", "-H", "X-Empty;", "--bearer", "t"])
    #expect(echo["method"] as? String == "OPTIONS")
    #expect(headers["x-test"] == "a b")
    #expect(headers["x-empty"] == "")
    #expect(headers["authorization"] == "Bearer t")
    #expect(headers["user-agent"]?.hasPrefix("Lastro/") == true)
    #expect(try await self.echo(["-u", "user:word"]).headers["authorization"] == "Basic dXNlcjp3b3Jk")
  }

  @Test(
    "User and password of a refused URL are not shown; an @ in its path is",
    arguments: [
      ("https://ann:hush@localhost/a@b", "https://***@localhost/a@b"),
      ("ann:hush@localhost/a", "http://***@localhost/a"),
      ("https://localhost/a@b?c=ann@d", "https://localhost/a@b?c=ann@d"),
    ])
  func userInformation(url: String, shown: String) async throws {
    let result = try await Lastro.run(["fetch", "--report", "--connect-timeout", "1", url])
    #expect(try result.json()["url"] as? String == shown)
    #expect(!result.text.contains("hush") && !result.errors.contains("hush"))
  }

  @Test("-d sends a form by POST, several joined; --data-binary a file as it is")
  func data() async throws {
    let (echo, headers) = try await echo(["-d", "a=1", "--data", "b=2"])
    #expect(echo["method"] as? String == "POST")
    #expect(headers["content-type"] == "application/x-www-form-urlencoded")
    #expect(echo["body_base64"] as? String == Data("a=1&b=2".utf8).base64EncodedString())
    let directory = try PeerDirectory()
    let file = try directory.write("line\n\u{0}", to: "body")
    let sent = try await self.echo(["-X", "PUT", "-H", "Content-Type: text/x", "--data-binary", "@\(file)"])
    #expect(sent.echo["method"] as? String == "PUT")
    #expect(sent.headers["content-type"] == "text/x")
    #expect(sent.echo["body_base64"] as? String == Data("line\n\u{0}".utf8).base64EncodedString())
    let missing = try await Lastro.run(["fetch", "-d", "@/nonexistent/file", python("/echo")])
    #expect(missing.status == 3)
  }

  @Test("--report has every key with its type")
  func json() async throws {
    let result = try await Lastro.run(["fetch", "--report", nginx("/redirect/2")])
    #expect(result.status == 0)
    #expect(result.lines.count == 1)
    let json = try result.json()
    #expect(
      Set(json.keys) == [
        "url", "status", "http_version", "headers", "body_bytes", "body_sha256", "attempts", "redirects", "timings",
        "error", "retry_end", "trust", "certificate",
      ])
    #expect(json["url"] as? String == (try nginx("/json")))
    #expect(json.status == 200)
    #expect(json["http_version"] as? String == "1.1")
    #expect(json["body_bytes"] as? Int == 19)
    #expect(
      json["body_sha256"] as? String == "9b2d43affbf49a367028df2e1414f84c0e099ac98c3d54a8a80157fd7771af25")
    #expect((json["headers"] as? [[String]])?.first?[0].lowercased() == "server")
    #expect(json["redirects"] as? [String] == [try nginx("/redirect/1"), try nginx("/json")])
    #expect(json["error"] is NSNull)
    let attempt = try #require(json.attempts.first)
    #expect(json.attempts.count == 1)
    #expect(
      Set(attempt.keys) == [
        "number", "outcome", "status", "cause", "sent", "delay_s", "delay_source", "reason", "quota_left", "start_s",
        "duration_s", "preparation_s", "redirects", "connection", "bytes_sent", "bytes_received", "resends", "timings",
        "body_cut", "notes",
      ])
    #expect(attempt["outcome"] as? String == "succeeded")
    #expect(attempt["sent"] as? Bool == true)
    #expect(attempt["delay_s"] as? Double == 0)
    #expect(try #require(attempt["bytes_received"] as? Int) >= 19)
    let timings = try #require(json["timings"] as? [String: Double])
    #expect(try #require(timings["total"]) > 0)
    for seconds in timings.values { #expect(seconds == (seconds * 1_000_000).rounded() / 1_000_000) }
  }

  @Test("The hash covers the decoded bytes, and a failure keeps the keys")
  func hashes() async throws {
    let text = try await Lastro.run(["fetch", nginx("/text")])
    let json = try await Lastro.run(["fetch", "--report", nginx("/text")]).json()
    #expect(json["body_bytes"] as? Int == text.output.count)
    let plain = try await Lastro.run(["fetch", "--report", "-H", "Accept-Encoding: identity", nginx("/text")]).json()
    #expect(plain["body_sha256"] as? String == json["body_sha256"] as? String)
    let failed = try await Lastro.run(["fetch", "--report", "http://nobody.invalid/"]).json()
    #expect(failed["status"] is NSNull)
    #expect(failed["http_version"] is NSNull)
    #expect(failed["body_sha256"] is NSNull)
    #expect(failed["url"] as? String == "http://nobody.invalid/")
    let error = try #require(failed["error"] as? [String: String])
    #expect(Set(error.keys) == ["stage", "code", "message"])
    #expect(failed.attempts.first?["sent"] as? Bool == false)
  }

  @Test("Every stage has its exit status and code")
  func stages() async throws {
    let certificates = try Peers.nginx.certificates
    let dead = try Loopback.freePort()
    let onlyHTTP2 = try LoopbackServer { connection in
      try connection.write(LoopbackHTTP2Frame.settings([]).bytes)
      _ = connection.readToEnd()
    }
    let cases: [(flags: [String], status: Int32, words: String)] = [
      (["ftp://localhost/"], 3, "request/unsupported_scheme"),
      (["http://"], 3, "request/invalid_url"),
      (["-H", "X: a\nb", try nginx("/json")], 3, "request/invalid_header"),
      (["-X", "G ET", try nginx("/json")], 3, "request/invalid_method"),
      (["--proxy", "http://127.0.0.1:\(dead)", try nginx("/json")], 5, "proxy/proxy_connect_failed"),
      (["http://nobody.invalid/"], 6, "resolve/host_not_found"),
      (["http://127.0.0.1:\(dead)/"], 7, "connect/connect_failed"),
      ([try nginx("/status/404")], 22, "http/unexpected_status"),
      (["--max-redirects", "0", try nginx("/status/302")], 22, "http/unexpected_status"),
      (["--timeout", "0.3", try nginx("/slow/1m")], 28, "timeout/total_timeout"),
      (["--attempt-timeout", "0.3", try nginx("/slow/1m")], 28, "timeout/attempt_timeout"),
      ([try secure("/json")], 35, "tls/untrusted_certificate"),
      (["--cacert", certificates.stranger, try secure("/json")], 35, "tls/untrusted_certificate"),
      (["--max-redirects", "2", try nginx("/redirect/3")], 47, "redirect/too_many_redirects"),
      ([try nginx("/redirect/loop")], 47, "redirect/redirect_loop"),
      (["http://127.0.0.1:\(onlyHTTP2.port)/json"], 56, "response/malformed_response"),
      (["--max-body", "100", try nginx("/files/1k")], 63, "limit/body_too_large"),
    ]
    for (flags, status, words) in cases {
      let result = try await Lastro.run(["fetch", "--report"] + flags)
      #expect(result.status == status, "\(flags) \(result.errors)")
      #expect(try result.json().failureWords == words, "\(flags)")
      let plain = try await Lastro.run(["fetch"] + flags)
      #expect(plain.status == status, "\(flags)")
      #expect(plain.errors.contains(words), "\(flags)")
    }
  }

  @Test("An invalid command line has exit status 64")
  func usage() async throws {
    for flags in [
      [], ["--nonsense", "http://localhost/"], ["--http1.1", "--http2", "http://localhost/"],
      ["--backoff", "sometimes", "http://localhost/"], ["--max-body", "many", "http://localhost/"],
      ["-H", "no colon", "http://localhost/"],
    ] {
      #expect(try await Lastro.run(["fetch"] + flags).status == 64, "\(flags)")
    }
  }

  @Test("A response outside 2xx shows its body, and the failure on standard error")
  func errorBody() async throws {
    let result = try await Lastro.run(["fetch", nginx("/status/418")])
    #expect(result.status == 22)
    #expect(result.text == "status 418")
    #expect(result.errors.contains("418"))
  }

  @Test("--http1.1, --http2 and --cacert select protocol and trust")
  func protocols() async throws {
    let authority = try Peers.nginx.certificates.authority
    for (flags, version) in [([], "2"), (["--http2"], "2"), (["--http1.1"], "1.1")] {
      let json = try await Lastro.run(["fetch", "--report", "--cacert", authority] + flags + [secure("/json")]).json()
      #expect(json["http_version"] as? String == version)
    }
    let h2c = "http://127.0.0.1:\(try Peers.nginx.ports.h2c)/json"
    #expect(try await Lastro.run(["fetch", "--report", "--http2", h2c]).json()["http_version"] as? String == "2")
  }

  @Test("--cert and --key present a client certificate; a key alone is refused")
  func clientCertificate() async throws {
    let nginx = try Peers.nginx
    let url = "https://localhost:\(nginx.ports.clientCertificate)/echo"
    let (certificate, key) = (nginx.certificates.client, nginx.certificates.clientKey)
    let flags = ["fetch", "--cacert", nginx.certificates.authority]
    let result = try await Lastro.run(flags + ["--cert", certificate, "--key", key, url])
    #expect(result.text.contains("CN=client"))
    #expect(try await Lastro.run(flags + [url]).status == 22)
    #expect(try await Lastro.run(flags + ["--key", key, url]).status == 3)
  }

  @Test("--resolve, --unix-socket, --proxy and --noproxy determine the route")
  func reach() async throws {
    let port = try Peers.nginx.ports.plain
    let resolved = try await Lastro.run(
      ["fetch", "--resolve", "api.test:\(port):127.0.0.1", "http://api.test:\(port)/echo"])
    #expect(resolved.lines.contains("api.test:\(port)"))
    #expect(try await Lastro.run(["fetch", "--resolve", "nonsense", nginx("/json")]).status == 3)
    let socket = try await Lastro.run(["fetch", "--unix-socket", Peers.nginx.socketPath, "http://service.test/echo"])
    #expect(socket.lines.contains("service.test"))
    let dead = "http://127.0.0.1:\(try Loopback.freePort())"
    let bypass = ["fetch", "--proxy", dead, "--noproxy", "other.test,127.0.0.1"]
    #expect(try await Lastro.run(bypass + [nginx("/json")]).status == 0)
  }

  @Test(
    "Proxies of the environment are used, except for loopback, no_proxy and --noproxy; HTTP_PROXY is ignored")
  func environment() async throws {
    let dead = "http://127.0.0.1:\(try Loopback.freePort())"
    let port = try Peers.nginx.ports.plain
    // The URL has a host name, because proxies of the environment are not used for loopback addresses.
    func status(_ environment: [String: String], _ flags: [String] = []) async throws -> Int32 {
      let arguments = ["fetch", "--resolve", "api.test:\(port):127.0.0.1"] + flags + ["http://api.test:\(port)/json"]
      return try await Lastro.run(arguments, environment: environment).status
    }
    #expect(try await status(["http_proxy": dead]) == 5)
    #expect(try await status(["all_proxy": dead]) == 5)
    #expect(try await status(["ALL_PROXY": dead]) == 5)
    #expect(try await status(["https_proxy": dead]) == 0)
    #expect(try await status(["HTTP_PROXY": dead]) == 0)
    #expect(try await status(["http_proxy": dead, "no_proxy": "api.test"]) == 0)
    #expect(try await status(["http_proxy": dead, "NO_PROXY": "*"]) == 0)
    #expect(try await status(["http_proxy": dead], ["--noproxy", "api.test"]) == 0)
    #expect(try await status(["http_proxy": dead], ["--proxy", ""]) == 0)
    let loopback = ["fetch", "http://127.0.0.1:\(port)/json"]
    #expect(try await Lastro.run(loopback, environment: ["http_proxy": dead]).status == 0)
    let listed = ["fetch", "--noproxy", "other.test", "http://127.0.0.1:\(port)/json"]
    #expect(try await Lastro.run(listed, environment: ["http_proxy": dead]).status == 5)
  }

  @Test("--retries retries eligible failures, with the delays of --backoff; --retry-all removes the restriction")
  func retries() async throws {
    let flags = ["fetch", "--report", "--retries", "2", "--backoff", "constant:0.01"]
    let json = try await Lastro.run(flags + [nginx("/status/503")]).json()
    #expect(json.attempts.count == 3)
    #expect(json.attempts.map { $0["status"] as? Int } == [503, 503, 503])
    #expect(json.attempts.map { $0["delay_s"] as? Double } == [0, 0.01, 0.01])
    #expect(json.failureWords == "http/unexpected_status" && json["retry_end"] as? String == "retries")
    let told = try await Lastro.run(flags.filter { $0 != "--report" } + [nginx("/status/503")])
    #expect(told.status == 22 && told.errors.contains("not retried again: the limit of 2 retries is reached"))
    let post = try await Lastro.run(flags + ["-d", "x", python("/status/503")]).json()
    #expect(post.attempts.count == 1)
    let all = try await Lastro.run(flags + ["--retry-all", "-d", "x", python("/status/503")]).json()
    #expect(all.attempts.count == 3)
    let missing = try await Lastro.run(flags + [nginx("/status/404")]).json()
    #expect(missing.attempts.count == 1)
    let untrusted = try await Lastro.run(flags + ["--retry-all", secure("/json")]).json()
    #expect(untrusted.attempts.count == 1)
    #expect(try await Lastro.run(["fetch", "--report", nginx("/status/503")]).json().attempts.count == 1)
  }

  @Test("--digest answers a challenge of the URL's origin only")
  func digest() async throws {
    let server = try LoopbackServer.http { request in
      let field = request.head.values("Authorization").first
      guard let field, field.hasPrefix("Digest "), field.contains(#"username="ann""#) else {
        return LoopbackResponse(
          status: 401, headers: ["WWW-Authenticate": #"Digest realm="r", nonce="n", qop="auth", algorithm=SHA-256"#])
      }
      return .text(request.target == "/away" ? "never" : "in")
    }
    let result = try await Lastro.run(["fetch", "--digest", "-u", "ann:hush-hush", "-v", server.baseURL + "/a"])
    #expect(result.status == 0 && result.text == "in", "\(result.errors)")
    #expect(!result.errors.contains("hush"))
    #expect(server.requests.count == 2)
    let both = try await Lastro.run(["fetch", "--digest", "-u", "a:b", "--bearer", "a", server.baseURL])
    #expect(both.status == 3 && both.errors.contains("exclude each other"), "\(both.errors)")
    #expect(try await Lastro.run(["fetch", "--digest", "-u", "nocolon", server.baseURL]).status == 64)
    #expect(try await Lastro.run(["fetch", "--digest", "-u", "a:b", "http:///nonsense"]).status == 3)
    let other = try LoopbackServer.http { _ in
      LoopbackResponse(status: 302, headers: ["Location": server.baseURL + "/away"])
    }
    let away = try await Lastro.run(["fetch", "--digest", "-u", "ann:hush-hush", other.baseURL])
    #expect(away.status == 22, "\(away.errors)")
  }

  @Test("--raw asks for no content coding, and prints a body as received")
  func raw() async throws {
    let compressed: [UInt8] = [
      0x1F, 0x8B, 0x08, 0, 0, 0, 0, 0, 0, 0x03, 0xCB, 0x48, 0xCD, 0xC9, 0xC9, 0x07, 0, 0x86, 0xA6, 0x10, 0x36, 5, 0, 0,
      0,
    ]
    let server = try LoopbackServer.http { _ in
      LoopbackResponse(headers: ["Content-Encoding": "gzip"], body: compressed)
    }
    let plain = try await Lastro.run(["fetch", server.baseURL])
    #expect(plain.text == "hello", "\(plain.errors)")
    let raw = try await Lastro.run(["fetch", "--raw", server.baseURL])
    #expect(raw.status == 0 && Array(raw.output) == compressed, "\(raw.errors)")
    let sent = server.requests.map { $0.head.values("Accept-Encoding") }
    #expect(sent.count == 2 && !sent[0].isEmpty && sent[1].isEmpty)
  }

  @Test("-v shows on standard error what is sent and received, including redirects, without secrets, then the ledger")
  func verbose() async throws {
    let result = try await Lastro.run(["fetch", "-v", "--bearer", "secret-token", nginx("/redirect/1")])
    #expect(result.text == #"{"message":"hello"}"#)
    let lines = result.errors.split(separator: "\n", omittingEmptySubsequences: false)
    let heads = lines.filter { $0.hasPrefix("> GET") || $0.hasPrefix("< HTTP") || $0.hasPrefix("* call") }
    #expect(heads[0].hasPrefix("> GET http://127.0.0.1") && heads[0].hasSuffix("/redirect/1"))
    #expect(
      heads.dropFirst().map { $0.prefix(14) } == [
        "< HTTP/1.1 302", "> GET http://1", "< HTTP/1.1 200", "* call 1: GET ",
      ])
    #expect(heads[1] == "< HTTP/1.1 302 Moved Temporarily")
    for name in ["> Host: 127.0.0.1", "> User-Agent: Lastro/", "> Accept: ", "< Location: ", "> Authorization: ***"] {
      #expect(lines.contains { $0.hasPrefix(name) }, "\(name)")
    }
    // The body does not end with a line break.
    let ledger = try #require(lines.firstIndex { $0.hasPrefix("* call") })
    #expect(lines[ledger - 1].isEmpty)
    #expect(!result.errors.contains("secret-token"))
  }

  @Test("-v shows interim responses, and -i prints them")
  func interim() async throws {
    let server = try LoopbackServer.http { _ in
      LoopbackResponse.text("body").after(interim: 103, headers: ["Link": "</a>"])
    }
    let result = try await Lastro.run(["fetch", "-v", "-i", server.baseURL])
    #expect(result.errors.contains("< HTTP/1.1 103") && result.errors.contains("< Link: </a>"))
    #expect(
      result.text.hasPrefix("HTTP/1.1 103") && result.text.contains("\r\n\r\nHTTP/1.1 200 OK\r\n"), "\(result.text)")
  }

  @Test("A URL without a scheme is http on this machine, with a note; -k is refused for a host elsewhere")
  func shortcuts() async throws {
    let server = try LoopbackServer { connection in connection.close() }
    let result = try await Lastro.run(["fetch", "localhost:\(server.port)/a"])
    #expect(result.errors.hasPrefix("lastro: the URL has no scheme; fetching http://localhost:\(server.port)/a\n"))
    let silent = try await Lastro.run(["fetch", "-sS", "localhost:\(server.port)"])
    #expect(result.status != 0 && silent.status != 0 && !silent.errors.contains("scheme"))
    let insecure = try await Lastro.run(["fetch", "-sk", "https://api.example.org/"])
    #expect(insecure.status == 64 && insecure.errors.contains("--cacert FILE"))
  }

  @Test("-o replaces a file only after a complete 2xx; modes and links are kept, and pipes are written to")
  func wholeFiles() async throws {
    let server = try LoopbackServer.http { request in
      switch request.path {
      case "/cut": LoopbackResponse(body: Array("half".utf8), fault: .truncateBody(after: 2))
      case "/404": .text("gone", status: 404)
      case "/same": LoopbackResponse(status: 304)
      default: .text("new")
      }
    }
    let directory = try PeerDirectory()
    let file = try directory.write("old", to: "out")
    try FileManager.default.setAttributes([.posixPermissions: 0o640], ofItemAtPath: file)
    try FileManager.default.createSymbolicLink(atPath: directory.file("link"), withDestinationPath: "out")
    for (path, flags) in [("/cut", []), ("/cut", ["--retry", "1", "--retry-delay", "0.01"]), ("/404", [])] {
      #expect(try await Lastro.run(["fetch", "-o", file, server.baseURL + path] + flags).status != 0)
      #expect(directory.text(of: "out") == "old")
    }
    let same = ["-o", file, "-H", "If-None-Match: \"1\"", server.baseURL + "/same"]
    #expect(try await Lastro.run(["fetch"] + same).status == 0 && directory.text(of: "out") == "old")
    #expect(try await Lastro.run(["fetch", "-o", directory.file("link"), server.baseURL]).status == 0)
    #expect(directory.text(of: "out") == "new" && directory.text(of: "link") == "new")
    let attributes = try FileManager.default.attributesOfItem(atPath: file)
    #expect(attributes[.posixPermissions] as? Int == 0o640)
    #expect(try FileManager.default.destinationOfSymbolicLink(atPath: directory.file("link")) == "out")
    try FileManager.default.createSymbolicLink(atPath: directory.file("ahead"), withDestinationPath: "made")
    #expect(try await Lastro.run(["fetch", "-o", directory.file("ahead"), server.baseURL]).status == 0)
    let names = try FileManager.default.contentsOfDirectory(atPath: directory.file(""))
    #expect(directory.text(of: "made") == "new" && Set(names) == ["out", "link", "ahead", "made"])
  }

  @Test("-o continues at the current offset of a shell's descriptor", arguments: ["/dev/stdout", "/dev/fd/1"])
  func descriptors(name: String) async throws {
    let server = try LoopbackServer.http { _ in .text("new") }
    let result = try await Lastro.run(
      ["-c", #"echo a; "$0" fetch -o "$1" "$2"; echo b"#, Lastro.path, name, server.baseURL], program: "/bin/sh")
    #expect(result.text == "a\nnewb\n", "\(result.errors)")
  }

  @Test("The process list shows URL and options, and no secret of the command line")
  func processes() async throws {
    let seen = Lock<[String]>([])
    let server = try LoopbackServer.http { request in
      let ids = (try? FileManager.default.contentsOfDirectory(atPath: "/proc").filter { Int32($0) != nil }) ?? []
      for id in ids {
        guard let file = FileManager.default.contents(atPath: "/proc/\(id)/cmdline") else { continue }
        let words = String(decoding: file, as: UTF8.self)
        if words.contains("\(request.head["Host"] ?? "?")/listed") { seen.withLock { $0.append(words) } }
      }
      return .text("a")
    }
    let flags = ["-sSuann:hush", "-b", "a=hush", "-HX-A:hush", "--header=X-B: hush", "-x", "", "-A", "agent"]
    let result = try await Lastro.run(["fetch"] + flags + [server.baseURL + "/listed"])
    #expect(result.text == "a" && server.requests.first?.head["X-B"] == "hush", "\(result.errors)")
    let listed = seen.withLock { $0 }.joined()
    #expect(listed.contains("-sSu") && listed.contains("agent") && !listed.contains("hush"), "\(listed)")
  }

  @Test("Invalid times are refused")
  func times() async throws {
    for flags in [["--timeout", "0"], ["--connect-timeout", "-1"], ["--idle-timeout", "nan"]] {
      let result = try await Lastro.run(["fetch"] + flags + [nginx("/json")])
      #expect([3, 64].contains(result.status), "\(flags)")
    }
  }

  @Test("A partial limit longer than the total is accepted, and the total ends the request, as with curl")
  func partLongerThanWhole() async throws {
    let flags = ["--connect-timeout", "40", "--attempt-timeout", "30", "--timeout", "20"]
    let result = try await Lastro.run(["fetch"] + flags + [nginx("/json")])
    #expect(result.status == 0)
  }
}
