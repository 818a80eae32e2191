// SPDX-License-Identifier: Apache-2.0

import Foundation
import LastroSupport
import LastroTesting
import TestSupport

@testable import Lastro
@testable import LastroGemini

/// A Gemini server in memory, with a certificate where a client wants to judge one.
final class Capsule: Dialer {
  /// What it does about a request.
  enum Reply: Sendable {
    /// Says this, then closes in order.
    case text(String)
    /// Says this, then cuts the wire.
    case truncated(String)
    /// Says this, then nothing.
    case stall(String)
  }

  private struct State {
    var dialed: [DialRequest] = []
    var requests: [String] = []
    var certificate: MintedCertificate?
    var closed = 0
  }

  private let state: Lock<State>
  private let shape: MemoryStream.Shape
  private let facts: StreamFacts
  private let reply: @Sendable (String) async -> Reply
  let finished = Arrivals()

  init(
    certificate: MintedCertificate? = nil, longestRead: Int = .max, facts: StreamFacts = StreamFacts(),
    reply: @escaping @Sendable (String) async -> Reply
  ) {
    state = Lock(State(certificate: certificate))
    shape = MemoryStream.Shape(longestRead: longestRead)
    self.facts = facts
    self.reply = reply
  }

  /// What was dialed.
  var dialed: [DialRequest] { state.withLock { $0.dialed } }
  /// Request lines that arrived.
  var requests: [String] { state.withLock { $0.requests } }
  /// Shows another certificate from now on.
  func show(_ certificate: MintedCertificate) { state.withLock { $0.certificate = certificate } }

  func dial(_ request: DialRequest) async throws(TransportError) -> any ByteStream {
    let certificate = state.withLock { state in
      state.dialed.append(request)
      return state.certificate
    }
    if case .judged(let judge)? = request.tls?.certificates, let certificate {
      guard let host = try? HostName(request.host),
        let chain = try? PeerCertificate.certificates(pem: certificate.certificatePEM)
      else { throw .refused(.invalidOption, "a certificate that cannot be read") }
      let trust = ServerTrust(host: host, port: request.port, chain: chain)
      if case .refused(let failure) = judge.judge(trust) { throw .refusedTrust(failure) }
    }
    let dialer = MemoryDialer(shape: shape, facts: facts) { [self] _, stream in
      var line = Data()
      while !line.suffix(2).elementsEqual([13, 10]) {
        guard let more = try await stream.read() else { return }
        line += more
      }
      let text = String(decoding: line.dropLast(2), as: UTF8.self)
      state.withLock { $0.requests.append(text) }
      switch await reply(text) {
      case .text(let text): try await stream.write(Data(text.utf8))
      case .truncated(let text):
        try await stream.write(Data(text.utf8))
        stream.truncate()
      case .stall(let text):
        try await stream.write(Data(text.utf8))
        _ = try? await stream.read()
        finished.add(text)
      }
    }
    return try await dialer.dial(request)
  }
}

extension GeminiClient {
  /// A client that believes every server, so that tests need no certificates.
  static func trusting(_ capsule: Capsule, _ change: (inout GeminiConfiguration) -> Void = { _ in }) -> GeminiClient {
    var configuration = GeminiConfiguration()
    configuration.trust = .authorities
    change(&configuration)
    return GeminiClient(dialer: capsule, configuration: configuration)
  }
}
