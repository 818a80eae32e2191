// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import LastroHTTP
import LastroObservability
import LastroWire
import Testing

@testable import Lastro
@testable import LastroCurl
@testable import LastroTransports
@testable import LastroTunnels
@testable import LastroWebSocket

extension ErrorTexts {
  /// What is refused before anything is sent.
  static func dialing() async throws -> Self {
    var texts = Self()
    var configuration = CurlConfiguration()
    configuration.connection.proxy = .none
    let transport = try CurlTransport(configuration)
    let engine = CurlDialer(transport: transport)
    let secured = TLSDialer(over: NowhereDialer())
    let tls = DialRequest(host: "a.example", port: 1, tls: DialRequest.TLS())
    var socket = ConnectionOptions()
    socket.unixSocketPath = "/run/a"
    var stapled = ConnectionOptions()
    stapled.tls.requiresStapledStatus = true
    var identified = ConnectionOptions()
    identified.tls.identity = TLSOptions.Identity(certificate: .file("/nowhere/a.pem"))
    await texts.provoke { try await transport.inspect("http://a.example/") }
    await texts.provoke { try await transport.inspect("https://a.example/", timeout: .zero) }
    await texts.provoke { try await engine.dialDatagrams(tls) }
    await texts.provoke { try await engine.dialDatagrams(DialRequest(host: "a.example", port: 1, connection: socket)) }
    await texts.provoke { try await engine.dial(DialRequest(host: "a.example", port: 0)) }
    for options in [stapled, identified] {
      let request = DialRequest(host: "a.example", port: 1, tls: DialRequest.TLS(), connection: options)
      await texts.provoke { try await secured.dial(request) }
    }
    await texts.provoke { try await secured.dial(DialRequest(host: "a b", port: 1, tls: DialRequest.TLS())) }
    texts.provoke({ try tls.refuseTLS() })
    return texts
  }

  static func exchanges() async throws -> Self {
    var texts = Self()
    let get = try ResourceRequest(url: "https://a.example/").head
    await texts.provoke {
      let head = HTTPRequest(method: .get, scheme: nil, authority: nil, path: "/")
      return try await DialerTransport(over: NowhereDialer()).execute(TransferRequest(head: head))
    }
    await texts.provoke {
      try await withinDeadline(
        of: TransferRequest(head: get, deadline: .milliseconds(1)), .continuous
      ) { () async throws(TransportError) -> Int in
        try? await Task.sleep(for: .seconds(60))
        return 0
      }
    }
    let empty = try HAR(
      json: Data(#"{"log": {"version": "1.2", "creator": {"name": "a", "version": "1"}, "entries": []}}"#.utf8))
    for matching in [HARReplayTransport.Matching.strict, .loose] {
      await texts.provoke {
        try await HARReplayTransport(empty, matching: matching).execute(TransferRequest(head: get))
      }
    }
    texts.provoke(
      { try WebSocketURL.request("ws://a.example/#b", headers: [:]) },
      { try HTTPField(ResponseHead.Field(name: "a b", value: "c")) },
      {
        var head = get
        head.headerFields[.secWebSocketKey] = "k"
        return try WebSocketHandshake(nonce: (1, 2)).request(head)
      })
    let leaf = PeerCertificate(der: [], pin: try SPKIHash.absent)
    let trust = ServerTrust(host: try HostName("a.example"), chain: [leaf])
    texts.add(TransportError.refusedTrust(TrustFailure(.noPinMatches, trust: trust)))
    texts.add(TransportError.refusedTrust(TrustFailure(.policyExpired(.distantPast), trust: trust)))
    return texts
  }
}

extension SPKIHash {
  /// Of no key.
  fileprivate static var absent: SPKIHash {
    get throws { try #require(SPKIHash([UInt8](repeating: 0, count: SPKIHash.length))) }
  }
}
