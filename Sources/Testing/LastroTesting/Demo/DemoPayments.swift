// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
internal import LastroSupport

/// The route `POST /payments` of the demo API, whose effect must not be repeated.
package final class DemoPayments: Sendable {
  private struct State {
    var made = 0
    var failures: [String: Int] = [:]
    var answers: [String: (body: [UInt8], response: LoopbackResponse)] = [:]
  }

  private let state = Lock(State())

  package var made: Int { state.withLock { $0.made } }

  func respond(to request: LoopbackRequest) throws -> LoopbackResponse {
    guard let failures = Int(digits: request.queryItem("failures") ?? "0") else {
      return try DemoAnswer.invalid("failures")
    }
    guard let order = try? JSONDecoder().decode(DemoModels.NewPayment.self, from: Data(request.body)) else {
      return try DemoAnswer.failure(400, "Problems parsing JSON")
    }
    guard order.amount > 0 else { return try DemoAnswer.invalid("amount") }
    let key = request.head["Idempotency-Key"]
    // Handle one payment at a time, so that two requests with the same key cannot both find it unused.
    return try state.withLock { state in
      if let key, let (body, response) = state.answers[key] {
        guard body == request.body else { return try DemoAnswer.invalid("Idempotency-Key", code: "reused") }
        return response.adding("Idempotency-Replayed", "true")
      }
      state.failures[key ?? "", default: 0] += 1
      if state.failures[key ?? "", default: 0] <= failures {
        return try DemoAnswer.failure(503, "Service temporarily unavailable")
      }
      state.made += 1
      let payment = DemoModels.Payment(id: state.made, amount: order.amount, currency: order.currency ?? "EUR")
      let response = try DemoAnswer.json(payment, status: 201)
      if let key { state.answers[key] = (request.body, response) }
      return response
    }
  }
}
