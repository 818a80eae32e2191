// SPDX-License-Identifier: Apache-2.0

import HTTPTypes
import Lastro
import Testing

@testable import LastroResilience

@Suite("Attempt outcomes")
struct AttemptOutcomeTests {
  private static func words(_ outcome: AttemptOutcome) -> String {
    "\(outcome.verdict) \(outcome.load) \(outcome.hedge)"
  }

  @Test("Every status has an outcome")
  func statuses() {
    for code in 100...599 {
      let expected =
        switch code {
        case 429: "ignored dropped unacceptable"
        case 503, 504: "failure dropped unacceptable"
        case 501, 505: "success measured acceptable"
        case 408, 500, 502, 506...599: "failure measured unacceptable"
        default: "success measured acceptable"
        }
      #expect(Self.words(AttemptOutcome(status: .init(code: code))) == expected, "\(code)")
    }
  }

  @Test("A failed fetch has the outcome of its last attempt")
  func fetches() {
    let down = TransportError(stage: .connect, code: .connectFailed, message: "the server is down")
    let rows: [(HTTPFetchError<TextAPIError>.Reason, String)] = [
      (.http(.serviceUnavailable, nil), "failure dropped unacceptable"),
      (.http(.notFound, nil), "success measured acceptable"),
      (.transport(down), "failure dropped unacceptable"), (.badResponse(down), "failure dropped unacceptable"),
      (.noRequest(down), "ignored ignored ends"), (.cancelled, "ignored ignored ends"),
    ]
    for (reason, expected) in rows {
      #expect(Self.words(AttemptOutcome(HTTPFetchError(reason))) == expected, "\(reason)")
    }
  }

  @Test("Every failure stage has an outcome")
  func stages() {
    let rows: [(FailureStage, FailureCode, String)] = [
      (.resolve, .hostNotFound, "failure ignored unacceptable"),
      (.connect, .connectFailed, "failure dropped unacceptable"),
      (.timeout, .connectTimeout, "failure dropped unacceptable"),
      (.timeout, .attemptTimeout, "failure dropped unacceptable"),
      (.timeout, .idleTimeout, "failure dropped unacceptable"), (.timeout, .totalTimeout, "ignored ignored ends"),
      (.tls, .handshakeFailed, "failure ignored unacceptable"), (.tls, .untrustedCertificate, "ignored ignored ends"),
      (.trust, .pinMismatch, "ignored ignored ends"), (.proxy, .proxyConnectFailed, "failure ignored unacceptable"),
      (.proxy, .proxyRefused, "ignored ignored ends"), (.send, .sendFailed, "failure ignored unacceptable"),
      (.response, .truncatedBody, "failure ignored unacceptable"), (.decode, .undecodable, "ignored ignored ends"),
      (.limit, .queueFull, "ignored ignored ends"), (.redirect, .redirectLoop, "ignored ignored ends"),
      (.request, .invalidURL, "ignored ignored ends"), (.cancelled, .cancelled, "ignored ignored ends"),
      (.policy, .circuitOpen, "ignored ignored ends"),
      (.http, .unexpectedStatus, "ignored ignored ends"),
    ]
    for (stage, code, expected) in rows {
      let outcome = AttemptOutcome(TransportError(stage: stage, code: code, message: ""))
      #expect(Self.words(outcome) == expected, "\(stage), \(code)")
    }
    #expect(Set(rows.map(\.0)) == Set(FailureStage.allCases))
  }
}
