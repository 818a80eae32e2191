// SPDX-License-Identifier: Apache-2.0

import Foundation
import HTTPTypes
import TestSupport

@testable import Lastro

/// What the simulated server does with one request.
struct LabAnswer {
  enum Kind {
    case status(Int)
    case redirect(Int, String)
    case failure(FailureStage, FailureCode, sent: Bool)
    case hang
  }

  var kind: Kind
  var latency: Duration
  var opensBody: Bool
  var cancelsCaller: Bool
  private let dice: Dice

  private static let failures: [(FailureStage, FailureCode, Bool?)] = [
    (.resolve, .hostNotFound, false), (.connect, .connectFailed, false), (.proxy, .proxyConnectFailed, false),
    (.proxy, .proxyRefused, false), (.tls, .handshakeFailed, false), (.tls, .hostMismatch, false),
    (.trust, FailureCode("pin_mismatch"), false), (.timeout, .connectTimeout, false), (.timeout, .idleTimeout, nil),
    (.timeout, .attemptTimeout, nil), (.timeout, .totalTimeout, nil), (.send, .sendFailed, nil),
    (.response, .connectionLost, true), (.response, .malformedResponse, true), (.response, .truncatedBody, true),
    (.response, .http2Failure, nil), (.limit, .bodyTooLarge, true), (.limit, .queueFull, false),
    (.cancelled, .shutDown, nil), (.request, .invalidOption, false), (.redirect, .redirectLoop, true),
    (.decode, .undecodable, true), (.send, .engineFailure, nil),
  ]

  init(_ scenario: Scenario, index: Int) {
    dice = Dice(scenario.seed &* 10_007 &+ UInt64(index) &+ 77)
    latency = dice.chance(80) ? dice.milliseconds(0...1_500) : dice.milliseconds(0...40_000)
    opensBody = dice.chance(60)
    cancelsCaller = scenario.isRough && dice.chance(2)
    switch dice.int(0...99) {
    case ..<scenario.health: kind = .status(dice.pick([200, 200, 200, 204, 299]))
    case 96... where scenario.isRough: kind = .hang
    case 85...:
      kind = .redirect(
        dice.pick([301, 302, 303, 307, 308]), (dice.chance(60) ? "" : "https://other.example") + "/r\(index)")
    case 60...:
      let (stage, code, sent) = dice.pick(Self.failures)
      kind = .failure(stage, code, sent: sent ?? dice.chance(60))
    default:
      kind = .status(
        dice.pick([300, 400, 401, 401, 404, 407, 408, 408, 409, 421, 425, 429, 429, 429, 500, 500, 502, 503, 503, 504]))
    }
  }

  /// Fields that ask for patience, and the date, since 1970, before which nobody may come back.
  func patience(now: Duration) -> (fields: HTTPFields, until: Duration?) {
    var fields = HTTPFields()
    let here = now.components.seconds
    let wait = dice.chance(85) ? dice.int(0...12) : dice.int(0...200)
    let skew = Int64(dice.pick([0, 0, -3_000, 86_400 * 400]))
    let hasDate = dice.chance(60)
    let date = hasDate ? LabDate.text(here + skew, dice.pick(LabDate.Format.allCases)) : nil
    switch dice.int(0...9) {
    case 0...3: return (fields, nil)
    case 4, 5:
      fields[.retryAfter] = "\(wait)"
      fields[.date] = date
      return (fields, now + .seconds(wait))
    case 6, 7:
      fields[.date] = date ?? (dice.chance(30) ? "garbage" : nil)
      fields[.retryAfter] = LabDate.text(here + (hasDate ? skew : 0) + Int64(wait), dice.pick(LabDate.Format.allCases))
      // Without the server's clock the date itself is what counts.
      return (fields, hasDate ? now + .seconds(wait) : .seconds(here + Int64(wait)))
    case 8:
      let second = dice.int(0...12)
      for value in ["\(wait)", "nonsense", "\(second)"] { fields.append(HTTPField(name: .retryAfter, value: value)) }
      return (fields, now + .seconds(max(wait, second)))
    default:
      fields[.retryAfter] = dice.pick(["", "-1", "soon", "1.5", "Sun, 99 Nov 2026 00:00:00 GMT", "+7", "\u{e9}"])
      return (fields, nil)
    }
  }
}
