// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Glibc
import LastroSupport
import LastroTesting
import LastroWire
import Testing

@testable import Lastro
@testable import LastroGemini
@testable import LastroTransports

extension ErrorTexts {
  static func geminiURLs() throws -> Self {
    var texts = Self()
    for url in [
      "", "/path", "gemini://", "gemini://a\n", "gemini://u@a", "gemini://a:x", "gemini://a:70000", "https://a",
      "gemini://a b", "gemini://a/" + String(repeating: "a", count: 1_100),
      "gemini://a/" + String(repeating: "a", count: 5_000),
    ] { texts.provoke({ try GeminiURL(url) }) }
    texts.provoke({ try GeminiHost(HostName("a"), port: 0) })
    return texts
  }

  static func knownHosts() throws -> Self {
    var texts = Self()
    texts.masks = minted
    func file(_ lines: String...) -> () throws -> Any {
      { try KnownHostsText((["lastro-known-hosts 1"] + lines).joined(separator: "\n"), path: "/known") }
    }
    func known(_ path: String, _ use: (PrivateFile) throws -> Void) throws {
      do { try use(PrivateFile(path)) } catch let error as PrivateFile.Failure {
        throw GeminiKnownHostsError(error, path)
      }
    }
    let pin = "sha256/" + String(repeating: "A", count: 43) + "="
    let good = "a.example 1965 \(pin) 2027-01-01T00:00:00Z"
    texts.provoke(
      file("a"), file("a.example 0 \(pin) x"), file("a.example 1 x y"), file("a.example 1 \(pin) x"), file(good, good),
      { try KnownHostsText("hosts", path: "/known") }, { try KnownHostsText("lastro-known-hosts 9", path: "/known") },
      { try KnownHostsPath.resolved("") }, { try GeminiKnownHostsFile(path: "/").all() },
      { throw GeminiKnownHostsError(.tooLarge(PrivateFile.maximumBytes + 1), "/known") },
      { try known("/proc/self/mem") { _ = try $0.read() } },
      { try known("/nowhere/known") { try $0.replace(with: "") } },
      { try KnownHostsLock("/nowhere/known") })
    let host = try GeminiHost(HostName("a.example"))
    let authority = try CertificateAuthority()
    func judge(_ trusted: String, chain: [PeerCertificate], at date: Duration, known: GeminiKnownHost? = nil) throws {
      let judge = FirstUseJudge(
        host: host, known: known, accepting: nil, rules: GeminiFirstUseRules(),
        time: TimeSource(now: { date }, sleep: { _ in }, sinceEpoch: { date }))
      _ = judge.judge(ServerTrust(host: try HostName(trusted), port: 1965, chain: chain))
      switch judge.finding {
      case .refused(let code, let message, let hint):
        texts.add(GeminiError(stage: .trust, code: code, message: message, hint: hint))
      case .changed(let change): texts.add("GeminiCertificateChange", change.description)
      case .accepted, nil: break
      }
    }
    let other = try PeerCertificate.certificates(pem: authority.issue(hosts: ["b.example"]).certificatePEM)
    let own = try PeerCertificate.certificates(pem: authority.issue(hosts: ["a.example"]).certificatePEM)
    let now = Duration.seconds(other.first?.facts?.notBefore.timeIntervalSince1970 ?? 0) + .seconds(3600)
    try judge("b.example", chain: other, at: now)
    try judge("a.example", chain: [], at: now)
    try judge("a.example", chain: own, at: .zero)
    try judge("a.example", chain: other, at: now)
    let old = GeminiKnownHost(pin: try #require(SPKIHash(pin)), expires: Date(timeIntervalSince1970: 4e9))
    try judge("a.example", chain: own, at: now, known: old)
    return texts
  }

  /// What a Gemini client says of servers that answer so.
  static func gemini() async throws -> Self {
    var texts = Self()
    func fetch(
      _ answer: String?, shape: MemoryStream.Shape = .init(), _ edit: (inout GeminiConfiguration) -> Void = { _ in }
    ) async {
      var configuration = GeminiConfiguration()
      configuration.trust = .authorities
      edit(&configuration)
      let waits = answer == nil || configuration.idleTimeout == .zero
      let dialer = MemoryDialer(shape: shape) { _, stream in
        _ = try await stream.read(upTo: 9_999, within: .seconds(60))
        if let answer { try await stream.write(Data(answer.utf8), within: .seconds(60)) }
        if waits { _ = try await stream.read(upTo: 1, within: .seconds(60)) }
      }
      await texts.provoke {
        try await GeminiClient(dialer: dialer, configuration: configuration).fetchData("gemini://a.example/", upTo: 4)
      }
    }
    for answer in [
      "", "2", "9", "2x", "201", "20 a\rb", "20 a\u{1}\r\n", "20 " + String(repeating: "a", count: 2_000) + "\r\n",
      "20 a\n", "20\n", "30 \r\n", "30 gemini://\r\n", "30 https://b.example/\r\n", "30 gemini://b.example/\r\n",
      "30 /\r\n",
      "20 text/plain\r\n12345", "20 \u{FEFF}\r\n",
    ] { await fetch(answer) }
    await fetch("30 /b\r\n") { $0.redirects = GeminiRedirects(limit: 0) { _ in .follow } }
    await fetch("30 https://b.example/\r\n") { $0.redirects = GeminiRedirects(limit: 5) { _ in .follow } }
    await fetch("20 text/plain\r\n1", shape: .init(truncatesOnClose: true))
    await fetch(nil) { $0.headerTimeout = .milliseconds(1) }
    await fetch(nil) { $0.totalTimeout = .milliseconds(1) }
    await fetch("20 text/plain\r\n1") { $0.idleTimeout = .zero }
    await fetch("20 text/plain\r\n1") { $0.trust = .firstUse(GeminiMemoryKnownHosts()) }
    texts.add(GeminiError.cancelled(url: nil))
    return texts
  }

  static func connections() throws -> Self {
    var texts = Self()
    for reason: ProtocolFramer.Failure.Reason in [
      .noProgress(needed: 9, available: 4), .needTooLarge(needed: 9, limit: 4),
      .incompleteInput(needed: 9, available: 4),
      .incompleteMessage(missing: 5), .incompleteMessage(missing: nil), .invalidLength(-1), .unconsumedOutput(bytes: 5),
      .bufferFull(limit: 9), .notAFramer,
    ] { texts.add(ConnectionError.framer(ProtocolFramer.Failure(label: "lines", reason: reason))) }
    texts.add(ConnectionError.posix(.ECANCELED), ConnectionError.dns(1), ConnectionError.tls(35))
    let lines = ProtocolFramer.Failure(label: "lines", reason: .bufferFull(limit: 9))
    for error in [
      ConnectionError.dns(1), .tls(35), .framer(lines), .posix(.ECONNREFUSED), .posix(.ECONNRESET), .posix(.EMSGSIZE),
      .posix(.ENOBUFS),
    ] { texts.add(error.transportError) }
    texts.add(TransportError.unreadableWire(ConnectionError.tls(35)))
    let receive: ReceiveRequest.Completion = { _, _, _, _ in }
    for (minimum, maximum, limit) in [(2, 1, 9), (5, 9, 1)] {
      let request = ReceiveRequest(minimum: minimum, maximum: maximum, isMessage: false, completion: receive)
      if let problem = request.problem(limit: limit) { texts.add(problem) }
    }
    texts.provoke(
      { try ConnectionEndpoint.service(name: "a", type: "_b._tcp", domain: "local").serverAddress() },
      { try ConnectionEndpoint.hostPort(host: .name("a"), port: 0).serverAddress() },
      { try ConnectionEndpoint.url(URL(filePath: "/")).address() },
      { try ConnectionEndpoint.url(#require(URL(string: "x://a.example/"))).address() },
      {
        let parameters = ConnectionParameters.udp
        parameters.tls = DialRequest.TLS()
        return try parameters.dialRequest(to: .hostPort(host: .name("a"), port: 1))
      })
    texts.add(TransportError.late("a.example:443", within: .seconds(10)), TransportError.endedInHandshake("lines"))
    return texts
  }
}
