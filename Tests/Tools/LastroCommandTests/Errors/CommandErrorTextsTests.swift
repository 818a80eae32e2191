// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

/// The errors for command lines and inputs that the program refuses, as `CommandErrorTexts.txt` beside this file has
/// them.
@Suite("Error texts of the command line", .timeLimit(.minutes(5)))
struct CommandErrorTextsTests {
  private static let file = URL(filePath: #filePath).deletingLastPathComponent()
    .appending(path: "CommandErrorTexts.txt")
  private static let url = "http://localhost:1"
  private static let pin = "sha256/" + String(repeating: "A", count: 43) + "="

  /// Command lines, by words; `PIN` stands for a pin, `FOLDER` for an empty folder.
  private static let lines = """
    fetch URL --http1.1 --http2
    fetch URL --backoff soon
    fetch URL -H Accept
    fetch URL -d a --json b
    fetch URL -G -F a=b
    fetch URL -I -d a
    fetch URL -k
    fetch URL -o a -O
    fetch URL --output-dir a
    fetch URL -O
    fetch URL -4 -6
    fetch URL -u a
    fetch URL --connect-to a
    fetch URL --connect-to a:1:b:2 --via socks5://localhost:1
    fetch URL --connect-to a:1:b:2 --unix-socket a
    fetch URL --backoff constant:1 --retry-delay 1
    fetch URL --retry-delay=-1
    fetch URL -d @/nowhere/body
    fetch URL -H @/nowhere/fields
    fetch URL -w @/nowhere/format
    fetch URL -F a=b -d c
    fetch URL -F a
    fetch URL -F =a
    fetch URL -F a=b;c=d
    fetch URL -F a="b
    fetch URL -F a=@/nowhere/file
    fetch URL -o /nowhere/body
    fetch URL --download f -o g
    fetch URL --download f --paginate
    fetch URL --download f -D a
    fetch URL -C - -o f -i
    fetch URL --download f -C 7
    fetch URL --download f --segments 2
    fetch URL -C -
    fetch URL --cacert a --capath b
    fetch URL --tlsv1.2 --tlsv1.3
    fetch URL --attempt-timeout 0
    fetch URL --max-body=-1
    fetch URL --bearer a -u b:c
    fetch URL --basic --digest
    fetch URL --digest
    fetch URL --key a
    fetch URL --resolve a
    fetch URL --pin a
    fetch URL --pin =PIN
    fetch URL --pin localhost=sha256/AAAA
    fetch URL --pin localhost=sha256//AAAA
    fetch URL --pin 127.0.0.1=PIN --pin-subdomains
    fetch URL --pin com=PIN --pin-subdomains
    fetch URL --pin a.test=PIN --pin-policy p.json
    fetch URL --pin-subdomains
    fetch URL --report-only
    fetch URL --pin-policy /nowhere/pins.json
    fetch localhost:1
    fetch URL -w %{nothing}
    fetch ftp://localhost
    fetch URL -b FOLDER/text.pem
    fetch URL -b a=1;b;c=2 -c /nowhere/jar
    fetch URL --via localhost:1
    fetch URL --via socks5://localhost:1 --resolve localhost:1:127.0.0.1
    fetch URL --via socks5://localhost:1 --unix-socket /nowhere/socket
    fetch URL --via socks5://localhost:1 --cert-status
    fetch URL --raw --cache a
    fetch URL --cache /nowhere/cache
    events URL --reconnect --no-reconnect
    events URL --count 0
    batch --concurrency 0
    bench URL --requests 0
    bench URL --zipf=-1
    pins
    pins localhost --cert a
    pins a b
    pins a:1 a:2 --check p.json
    pins https://localhost
    pins localhost:0
    pins localhost --client-key a
    pins --cert /nowhere/a.pem
    pins --cert FOLDER/text.pem
    pins --cert FOLDER/key.pem
    pins --cert FOLDER/other.pem
    pins --cert FOLDER/broken.pem
    pins --cert FOLDER/brokenkey.pem
    connect localhost:1 --udp --linger 1
    connect localhost:1 --linger 0
    connect localhost:1 --udp --tls
    connect localhost:1 --udp --via socks5://localhost
    connect localhost:1 --server-name a
    connect localhost:1 --udp --udp-wait 0
    connect localhost
    connect localhost:1 --via socks5://localhost:70000
    gemini localhost --max-redirects=-1
    gemini localhost --timeout 0
    gemini localhost --max-body=-1
    gemini localhost --known-hosts a --cacert b
    gemini localhost --expired --cacert b
    ws ws://localhost:1 --ping=-1
    ws ws://localhost:1 --deflate-minimum 1
    ws ws://localhost:1 --wait=-1
    ws ws://localhost:1 --max-message 0
    """

  /// Lines for `lastro batch`.
  private static let requests = [
    "{", "[]", #"{"link": 1}"#, "{}", #"{"url": "URL", "backoff": "soon"}"#, #"{"url": 1}"#,
    #"{"url": "URL", "headers": [["a"]]}"#, #"{"url": "URL", "body_base64": "?"}"#,
    #"{"url": "URL", "body": "a", "body_base64": "YQ=="}"#, #"{"url": "URL", "http_version": "3"}"#,
    #"{"url": "URL", "digest": "a"}"#, #"{"url": "URL", "tls_version": "1"}"#,
    #"{"url": "URL", "cacert": "a", "capath": "b"}"#,
  ]

  /// The first line of what it says, and the remedy below it.
  private static func told(_ result: Lastro.Result) -> String {
    let lines = result.errors.split(separator: "\n").map { $0.drop { $0 == " " } }
    return lines.prefix(1).joined() + (lines.dropFirst().first { $0.hasPrefix("hint: ") }.map { "; \($0)" } ?? "")
  }

  private static func texts() async throws -> [String] {
    let folder = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    for (name, label) in [
      ("key", "PRIVATE KEY"), ("other", "X509 CRL"), ("broken", "CERTIFICATE"), ("brokenkey", "PUBLIC KEY"),
    ] {
      let pem = "-----BEGIN \(label)-----\nAAAA\n-----END \(label)-----\n"
      try Data(pem.utf8).write(to: folder.appending(path: "\(name).pem"))
    }
    try Data("text".utf8).write(to: folder.appending(path: "text.pem"))
    func shown(_ text: some StringProtocol) -> String { text.replacingOccurrences(of: folder.path(), with: "FOLDER") }
    var texts: [String] = []
    for line in lines.split(separator: "\n") {
      let words = line.replacingOccurrences(of: "URL", with: url).replacingOccurrences(of: "PIN", with: pin)
        .replacingOccurrences(of: "FOLDER", with: folder.path())
      let result = try await Lastro.run(words.split(separator: " ").map(String.init))
      #expect(result.status != 0, "\(line)")
      texts.append("\(line) | \(shown(told(result)))")
    }
    for request in requests {
      let result = try await Lastro.run(["batch"], input: request.replacingOccurrences(of: "URL", with: url) + "\n")
      let error = try result.json()["error"] as? [String: Any]
      texts.append("batch: \(request) | \(error?["message"] ?? result.text)")
    }
    let invalid = try await Lastro.run(["batch"], input: Data([0xFF, 0x0A]))
    texts.append("batch: bytes | \((try invalid.json()["error"] as? [String: Any])?["message"] ?? invalid.text)")
    return try await texts + answers()
  }

  /// The errors for servers that answer so.
  private static func answers() async throws -> [String] {
    var texts: [String] = []
    func add(_ name: String, _ result: Lastro.Result) {
      texts.append("\(name) | \(told(result))")
    }
    let identity = try CertificateMint.selfSigned(hosts: ["localhost"])
    let headers: [(Int, [String])] = [(10, []), (30, ["--max-redirects", "0"]), (40, []), (50, []), (60, [])]
    for (status, flags) in headers {
      let server = try LoopbackGeminiServer(identity: identity) { _ in .header(status, "Say") }
      add("gemini: status \(status)", try await Lastro.run(["gemini", server.url()] + flags))
    }
    let server = try LoopbackGeminiServer(identity: identity) { _ in .success("too long") }
    add("gemini --max-body 3", try await Lastro.run(["gemini", server.url(), "--max-body", "3"]))
    let sockets = try LoopbackWebSocketServer()
    add("ws: bytes", try await Lastro.run(["ws", sockets.url], input: Data([0xFF, 0x0A])))
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.close(1011, "on fire")]
    let failing = try LoopbackWebSocketServer(behavior)
    add("ws: code 1011", try await Lastro.run(["ws", "--echo", failing.url]))
    return texts
  }

  @Test("are those of the file; LASTRO_RENEW=1 writes it anew")
  func golden() async throws {
    try expectGolden(try await Self.texts().map { $0 + "\n" }.joined(), keptIn: Self.file, of: ErrorLine.commandLine)
  }

  @Test("teach the remedy, in words that Docs/Names.md allows")
  func form() throws {
    for line in try String(contentsOf: Self.file, encoding: .utf8).components(separatedBy: "\n") where !line.isEmpty {
      #expect(!line.contains(#/ is none\b| is no [a-z]+|\b(?:whoever|somebody|nobody)\b/#), "\(line)")
      #expect(line.count <= 400, "\(line)")
    }
  }
}
