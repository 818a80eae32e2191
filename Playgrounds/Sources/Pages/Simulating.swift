// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import LastroSimulation
import LastroTesting

// sample: service
/// A shop that sells things, in a service of several instances.
private struct Shop {
  private let stack: any HTTPNetworkStack
  private let charges: RequestOptions

  init(_ stack: any HTTPNetworkStack, charges: RequestOptions) {
    self.stack = stack
    self.charges = charges
  }

  func sell(_ item: String) async throws {
    _ = try await stack.fetch(.text("https://stock.example/\(item)"))
    _ = try await stack.fetch(
      .send(.post, "https://payments.example/charges", body: .raw(item), options: charges))
  }
}
// end

private func shop(charges: RequestOptions) -> Simulation {
  // sample: simulation
  let simulation = Simulation { world in
    try world.server("https://login.example") { _ in
      .json(#"{"access_token": "a-token", "token_type": "Bearer", "expires_in": 30}"#)
    }
    try world.server("https://stock.example") { _ in .text("12") }
    try world.server("https://payments.example") { _ in
      try await Task.sleep(for: .milliseconds(800))
      return LoopbackResponse(status: 201)
    }
    world.machine("shop", count: 3) { machine in
      let client = try OAuth2Client(
        tokenURL: "https://login.example/token", id: "shop", authentication: .basic("a-secret"))
      let tokens = try BearerAuthenticator(
        source: client.clientCredentials(stack: machine.stack()),
        origins: [Origin("https://stock.example"), Origin("https://payments.example")])
      let shop = Shop(machine.stack(StackConfiguration(interceptors: [tokens, .retry])), charges: charges)
      for number in 1...20 {
        try? await shop.sell("\(machine.name)/\(number)")
        try await Task.sleep(for: .seconds(1))
      }
    }
    world.require(.noRequestTwice(of: .post), .everyCallEnds(within: .seconds(61)))
  }
  // end
  return simulation
}

private func bug() -> RequestOptions {
  // sample: bug
  var charges = RequestOptions()
  charges.idempotency = .idempotent  // so that charges are retried
  // end
  return charges
}

private func find(in simulation: Simulation) async throws -> SimulationFailure? {
  var found: SimulationFailure?
  // sample: run
  do {
    try await simulation.run(seeds: 1...200, faults: .random(upTo: 8, of: [.partition, .resetConnections]))
  } catch let failure as SimulationFailure {
    print(failure.property)
    found = failure
  }
  // end
  return found
}

private func particular(_ simulation: Simulation) async throws -> SimulationTrace {
  // sample: particular
  let trace = try await simulation.run(
    seed: 1,
    faults: .exactly([
      .partition("shop-1", "payments.example", at: .seconds(3), for: .seconds(10)),
      .crash("shop-2", at: .seconds(5), restartAfter: .seconds(2)),
    ]))
  // end
  return trace
}

extension Page {
  static let simulating = Page("Simulating") { stage in
    let faulty = shop(charges: bug())
    var failure: SimulationFailure?
    try await stage.prints("failure") { failure = try await find(in: faulty) }
    stage.check("the bug is found", failure != nil)
    let correct = shop(charges: RequestOptions())
    stage.check("without the bug, every run keeps the promises", try await find(in: correct) == nil)
    let trace = try await particular(correct)
    stage.check("a partition and a restart", trace.faults.count == 2)
  }
}
