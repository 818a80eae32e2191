// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import HTTPTypes
import LastroHTTP
import LastroTesting
import TestSupport
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroGemini
@testable import LastroObservability
@testable import LastroTransports
@testable import LastroTunnels
@testable import LastroWire

extension ErrorTexts {
  /// What replays of an archive say that lacks something.
  static func recordings() async throws -> Self {
    var texts = Self()
    let contents: [HAR.Content?] = [
      nil, HAR.Content(isTruncated: true), HAR.Content(text: "?", encoding: "base64"),
    ]
    func entry(_ method: String, _ content: HAR.Content?) -> HAR.Entry {
      HAR.Entry(
        startedDateTime: "", time: 0, request: .init(method: method, url: "https://a.example/"),
        response: .init(status: content == nil ? 0 : 200, content: content ?? HAR.Content()), timings: .init())
    }
    let request = TransferRequest(head: try ResourceRequest(url: "https://a.example/").head)
    for content in contents {
      await texts.provoke { try await HARReplayTransport(HAR(entries: [entry("GET", content)])).execute(request) }
    }
    await texts.provoke {
      try await HARReplayTransport(HAR(entries: [entry("PUT", HAR.Content())])).execute(request)
    }
    return texts
  }

  private struct Problem: Error, Codable, Sendable {
    var problem: String
  }

  /// What servers answer, as a failed call shows it.
  static func answers() async throws -> Self {
    var texts = Self()
    func fetch(_ body: String, headers: HTTPFields = [:], whole: Int = 99) async throws {
      let stack = TransportNetworkStack(
        ScriptedTransport([.respond(status: 503, headers: headers, body: body)])
      ) { $0.maximumErrorBodyBytes = whole }
      do throws(HTTPFetchError<Problem>) {
        _ = try await stack.fetch(HTTPResource<[Int], Problem>.get("https://example.com/"))
      } catch {
        texts.add("HTTPFetchError", "\(error)")
        let words = ["API error:", "the error body did not decode:"]
        let lines = error.debugDescription.split(separator: "\n").filter { line in words.contains { line.contains($0) }
        }
        for line in lines { texts.add("HTTPFetchError", String(line.trimmingPrefix { $0 == " " })) }
      }
    }
    try await fetch(#"{"problem": "busy"}"#, headers: [.retryAfter: "9"])
    try await fetch("busy")
    try await fetch("busy", whole: 1)
    let meek = try MeekServer(URL(string: "https://meek.example/") ?? URL(filePath: "/"))
    let stack = TransportNetworkStack(ScriptedTransport([.respond(status: 404)]))
    await texts.provoke {
      try await MeekDialer(meek, through: stack).dial(DialRequest(host: "target.example", port: 80))
    }
    return texts
  }

  private struct NoFactory: ConnectionFactory {
    func connect(using parameters: ConnectionParameters) -> (any Connection)? { nil }
  }

  /// What is refused while a connection is made.
  static func connecting() async throws -> Self {
    var texts = Self()
    for parameters in [ConnectionParameters.tcp, .udp] {
      await texts.provoke { try await NoFactory().open(using: parameters) }
    }
    let request = DialRequest(host: "a.example", port: 1)
    let used = SingleConnectionDialer(
      NetworkConnection(to: .hostPort(host: "a.example", port: 1), using: .tcp, dialer: NowhereDialer()))
    _ = try? await used.dial(request)
    await texts.provoke { try await used.dial(request) }
    return texts
  }

  /// What machines refuse that another rule mostly refuses first.
  static func machines() -> Self {
    var texts = Self()
    func add(_ violation: HeadViolation) { texts.add(violation.transportError) }
    func refuse(_ bytes: [UInt8], by take: (UnsafeRawBufferPointer) throws(HeadViolation) -> Void) {
      do throws(HeadViolation) { try bytes.withBytes(take) } catch { add(error) }
    }
    refuse(Array("a: b".utf8)) { bytes throws(HeadViolation) in _ = try ResponseHeadMachine.withoutLineEnd(bytes) }
    refuse(Array("a: 12345678\r\n".utf8)) { bytes throws(HeadViolation) in
      var section = TrailerSection(maximumBytes: 9, maximumFields: 9)
      var position = 0
      _ = try section.take(bytes, from: &position)
    }
    do throws(SOCKS5Failure) {
      var machine = try SOCKS5Machine(host: .ipv4([192, 0, 2, 1]), port: 1)
      _ = try machine.receive([5])
    } catch {
      texts.add("SOCKS5Failure", error.message)
    }
    do throws(GeminiHeaderViolation) {
      var machine = GeminiHeaderMachine()
      _ = try machine.consume(Array("20 ".utf8) + [0xFF, 0x0D, 0x0A])
    } catch {
      texts.add("GeminiHeaderViolation", error.message)
    }
    return texts
  }

  /// What files of known hosts are refused for.
  static func knownHostsFiles() async throws -> Self {
    var texts = Self()
    let folder = FileManager.default.temporaryDirectory.appending(path: "lastro-\(UUID().uuidString)").path()
    try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(atPath: folder) }
    texts.masks = [(try Regex(folder, as: Substring.self), "/folder")]
    #expect(symlink([CChar(bitPattern: 0xFF), 0], "\(folder)/b") == 0)
    try Data([0xFF]).write(to: URL(filePath: "\(folder)/c"))
    let lock = try KnownHostsLock("\(folder)/d.lock")
    #expect(try lock.take())
    let host = try GeminiHost(HostName("a.example"))
    for limit in [Duration.zero, .seconds(600)] {
      let file = GeminiKnownHostsFile(path: "\(folder)/d", lockTimeout: limit)
      await texts.provoke {
        let task = Task { try await file.replace(host, nil, with: nil) }
        if limit != .zero { task.cancel() }
        return try await task.value
      }
    }
    texts.provoke(
      { try KnownHostsPath.resolved("\(folder)/b") }, { try GeminiKnownHostsFile(path: "\(folder)/c").all() })
    lock.release()
    return texts
  }
}
