// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroCurl
import LastroTesting
import Testing

#if canImport(FoundationEssentials)
  import FoundationEssentials
#else
  import Foundation
#endif

/// What carries a request's bytes over TLS.
enum Carrier: String, CaseIterable, Sendable {
  /// A transfer of libcurl's.
  case fetch
  /// A stream that the engine dials.
  case stream
  /// OpenSSL over another stream.
  case tlsOverStream
}

/// A way in which a request could pass a pin by.
enum Bypass: String, CaseIterable, Sendable {
  case manInTheMiddle, requestWithoutJudge, requestWithMildJudge, plaintext
  case policySwappedBetween, policySwappedInHandshake
  case rulesWithoutEnd, connectionFromBefore, ticketFromBefore, certificateSwapped, redirect, silentResend
  case streamOfAnotherRequest, unfinishedHandshake

  /// Why there is nothing to try; `nil` where it is tried.
  func isImpossible(over carrier: Carrier) -> String? {
    guard carrier != .fetch else { return nil }
    return switch self {
    case .redirect: "only HTTP has redirects; what is dialed next is a dial of its own"
    case .silentResend: "bytes of a stream are written once, on the connection that was dialed"
    case .streamOfAnotherRequest: "each dial has a connection of its own: nothing is multiplexed"
    case .unfinishedHandshake: "a stream is handed over after its handshake, and serves nobody before"
    default: nil
    }
  }

  /// The test of ``BypassTests`` that tries it over HTTP; `nil` where the table does so.
  var testOverHTTP: String? {
    switch self {
    case .redirect: "redirect"
    case .silentResend: "resend"
    case .streamOfAnotherRequest: "swapInFlight"
    case .unfinishedHandshake: "unfinishedConnection"
    default: nil
    }
  }
}

/// One way to a server that certificates of a lab speak for, under a judge that no request can be without.
struct CarrierClient {
  let carrier: Carrier
  let lab: TrustLab
  private let stack: CurlNetworkStack
  private let dialer: any Dialer

  init(_ carrier: Carrier, _ lab: TrustLab, judge: (any ServerTrustJudge)?) throws {
    self.carrier = carrier
    self.lab = lab
    stack = try lab.stack(judge)
    var configuration = CurlConfiguration()
    configuration.connection = Self.options(lab, judge)
    if carrier == .tlsOverStream {
      var plain = CurlConfiguration()
      plain.connection.proxy = .none
      dialer = TLSDialer(over: try CurlDialer(plain), connection: configuration.connection)
    } else {
      dialer = try CurlDialer(configuration)
    }
  }

  static func options(_ lab: TrustLab, _ judge: (any ServerTrustJudge)?) -> ConnectionOptions {
    var options = ConnectionOptions()
    options.proxy = .none
    options.tls.roots = .pem(Array(lab.authority.rootPEM.utf8))
    options.tls.trustJudge = judge
    return options
  }

  /// Sends a secret, and reads of the answer. What the server was accepted as, or stage and code of the refusal.
  func send(to server: LoopbackServer, options: ConnectionOptions? = nil) async -> String {
    do {
      return try await (carrier == .fetch ? fetch(server, options) : dial(server, options))?.rawValue ?? "nothing"
    } catch let error as RawFailure {
      return error.words
    } catch let error as TransportError {
      return "\(error.stage.rawValue)/\(error.code)"
    } catch {
      return "\(error)"
    }
  }

  private func fetch(_ server: LoopbackServer, _ options: ConnectionOptions?) async throws -> TrustVerdict? {
    var own = RequestOptions()
    own.connection = options
    let scheme = server.isTLS ? "https" : "http"
    let answer = try await stack.send(
      .get, "\(scheme)://localhost:\(server.port)/", headers: ["Authorization": "Bearer secret"], options: own)
    return answer.response.facts.trust
  }

  private func dial(_ server: LoopbackServer, _ options: ConnectionOptions?) async throws -> TrustVerdict? {
    let stream = try await dialer.dial(
      DialRequest(
        host: "localhost", port: server.port, tls: server.isTLS ? .init() : nil, connection: options,
        connectTimeout: .seconds(60)))
    defer { stream.close() }
    try await stream.write(Data("GET / HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer secret\r\n\r\n".utf8))
    _ = try await stream.read(upTo: 1, within: .seconds(60))
    return stream.facts.trust
  }
}
