// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import LastroStreamsTesting
import LastroTesting
import TestSupport
import Testing

@testable import LastroCommand

/// Tests of command lines and inputs that the program rejects, and of the texts of some errors.
@Suite("Refused command lines", .timeLimit(.minutes(15)))
struct RefusedCommandLineTests {
  private static let url = "http://localhost:1"
  private static let pin = "sha256/" + String(repeating: "A", count: 43) + "="

  /// The command lines, split at spaces. `PIN` is replaced by a pin, and `FOLDER` by the path of an empty folder.
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
    fetch URL --trace a --trace-ascii b
    fetch URL --trace /nowhere/trace
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

  /// The input lines for `lastro batch`.
  private static let requests = [
    "{", "[]", #"{"link": 1}"#, "{}", #"{"url": "URL", "backoff": "soon"}"#, #"{"url": 1}"#,
    #"{"url": "URL", "headers": [["a"]]}"#, #"{"url": "URL", "body_base64": "?"}"#,
    #"{"url": "URL", "body": "a", "body_base64": "YQ=="}"#, #"{"url": "URL", "http_version": "3"}"#,
    #"{"url": "URL", "digest": "a"}"#, #"{"url": "URL", "tls_version": "1"}"#,
    #"{"url": "URL", "cacert": "a", "capath": "b"}"#,
  ]

  /// A folder with PEM files that contain no public key. It is deleted when it is released.
  private final class Folder: Sendable {
    let path: String

    init() throws {
      let folder = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)")
      try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
      path = folder.path()
      for (name, label) in [
        ("key", "PRIVATE KEY"), ("other", "X509 CRL"), ("broken", "CERTIFICATE"), ("brokenkey", "PUBLIC KEY"),
      ] {
        let pem = "-----BEGIN \(label)-----\nAAAA\n-----END \(label)-----\n"
        try Data(pem.utf8).write(to: folder.appending(path: "\(name).pem"))
      }
      try Data("text".utf8).write(to: folder.appending(path: "text.pem"))
    }

    deinit { try? FileManager.default.removeItem(atPath: path) }
  }

  /// Returns the first line that the program prints for a command line, and the remedy below it.
  ///
  /// - Parameter starts: whether the program is started also where the parser alone refuses the line.
  private static func refusal(of line: String, in folder: Folder, starts: Bool) async throws -> String {
    let words = line.replacingOccurrences(of: "URL", with: url).replacingOccurrences(of: "PIN", with: pin)
      .replacingOccurrences(of: "FOLDER", with: folder.path).split(separator: " ").map(String.init)
    var refusal: String?
    if !starts {
      do {
        _ = try LastroCommand.parseAsRoot(CurlWords.expanded(words))
      } catch {
        refusal = LastroCommand.fullMessage(for: error)
      }
    }
    if refusal == nil {
      let result = try await Lastro.run(words)
      #expect(result.status != 0, "\(line)")
      refusal = result.errors
    }
    return told(refusal ?? "").replacingOccurrences(of: folder.path, with: "FOLDER")
  }

  private static func told(_ errors: String) -> String {
    let lines = errors.split(separator: "\n").map { $0.drop { $0 == " " } }
    return lines.prefix(1).joined() + (lines.dropFirst().first { $0.hasPrefix("hint: ") }.map { "; \($0)" } ?? "")
  }

  // One case a line: the time limit is that of a case.
  @Test(
    "An invalid command line is refused with one short line that says why and what to write",
    arguments: lines.split(separator: "\n").map(String.init))
  func commandLines(line: String) async throws {
    let text = try await Self.refusal(of: line, in: Folder(), starts: false)
    #expect(text.hasPrefix("Error: ") || text.hasPrefix("lastro: "), "\(text)")
    #expect(text.count <= 400, "\(text)")
    // If two flags exclude each other, the error needs no further remedy.
    let says = text.contains(#/\)$|; |…|exclude each other|\b(?:add|give|needs|repeat|write)\b/#)
    #expect(says, "\(text)")
  }

  @Test(
    "A refusal quotes the argument, and names the flag in place of the library's property",
    arguments: [
      (
        "fetch URL --backoff soon",
        "Error: --backoff soon cannot be parsed; write constant:SECONDS or exponential:SECONDS."
      ),
      (
        "fetch URL --pin localhost=sha256//AAAA",
        """
        Error: --pin localhost=sha256//AAAA: "sha256//AAAA" is not a pin; write sha256/, with one slash and the Base64 of 32 bytes with its final =.
        """
      ),
      (
        "fetch URL --digest",
        "Error: --digest needs -u USER:PASSWORD."
      ),
      (
        "pins --cert FOLDER/key.pem",
        """
        lastro: request/invalid_option: FOLDER/key.pem holds no certificate, certificate request or public key, but a block "PRIVATE KEY" (give its public key: openssl pkey -in FILE -pubout)
        """
      ),
      (
        "connect localhost:1 --via socks5://localhost:70000",
        """
        lastro: request/invalid_option: --via: hop 1 of the chain: cannot parse "localhost:70000": port 70000 in the URL is not a number from 1 to 65535 (write HOST:PORT, or leave the port out)
        """
      ),
      (
        "fetch ftp://localhost",
        #"lastro: request/unsupported_scheme: the scheme ftp is not supported: "ftp://localhost"; hint: use https or http"#
      ),
    ])
  func examples(line: String, text: String) async throws {
    let folder = try Folder()
    #expect(try await Self.refusal(of: line, in: folder, starts: true) == text)
  }

  @Test("A batch line that cannot be read becomes an error that says what to write", arguments: requests)
  func batches(request: String) async throws {
    let result = try await Lastro.run(
      ["batch"], input: request.replacingOccurrences(of: "URL", with: Self.url) + "\n")
    let error = try result.json()["error"] as? [String: Any]
    let text = try #require(error?["message"] as? String)
    #expect(text.hasSuffix(")") || text.contains("; "), "\(text)")
  }

  @Test("A batch line that is not UTF-8 becomes an error that says how to save the file")
  func batchNotText() async throws {
    let invalid = try await Lastro.run(["batch"], input: Data([0xFF, 0x0A]))
    let error = try invalid.json()["error"] as? [String: Any]
    #expect(error?["message"] as? String == "the line is not UTF-8 (save the file as UTF-8)")
  }

  @Test("The status of a Gemini server is printed with the flag that answers it")
  func gemini() async throws {
    let identity = try CertificateMint.selfSigned(hosts: ["localhost"])
    let answers: [(Int, [String], String)] = [
      (10, [], "the server asks for input; --input TEXT answers (status 10: Say)"),
      (30, ["--max-redirects", "0"], "the server redirects, and redirects are not followed (status 30: Say)"),
      (40, [], "the server failed temporarily (status 40: Say)"),
      (50, [], "the server failed permanently (status 50: Say)"),
      (60, [], "the server requires a client certificate; --cert FILE presents one (status 60: Say)"),
    ]
    for (status, flags, text) in answers {
      let server = try LoopbackGeminiServer(identity: identity) { _ in .header(status, "Say") }
      let result = try await Lastro.run(["gemini", server.url()] + flags)
      #expect(Self.told(result.errors) == "lastro: http/unexpected_status: \(text)")
    }
    let server = try LoopbackGeminiServer(identity: identity) { _ in .success("too long") }
    let result = try await Lastro.run(["gemini", server.url(), "--max-body", "3"])
    #expect(
      Self.told(result.errors)
        == "lastro: limit/body_too_large: the body has more than 3 bytes; hint: raise --max-body")
  }

  @Test("Input that is not text, and a close with an error, end a WebSocket with a line that says so")
  func webSocket() async throws {
    let sockets = try LoopbackWebSocketServer()
    let bytes = try await Lastro.run(["ws", sockets.url], input: Data([0xFF, 0x0A]))
    #expect(Self.told(bytes.errors) == "lastro: a line is not UTF-8; --binary sends bytes as they are")
    var behavior = LoopbackWebSocketBehavior()
    behavior.greeting = [.close(1011, "on fire")]
    let failing = try LoopbackWebSocketServer(behavior)
    let closed = try await Lastro.run(["ws", "--echo", failing.url])
    #expect(Self.told(closed.errors) == "lastro: the server closed with code 1011: on fire")
  }
}
