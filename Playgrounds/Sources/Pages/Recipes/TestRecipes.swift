// SPDX-License-Identifier: Apache-2.0

import Lastro
import LastroTesting

/// Recipes for tests.
enum TestRecipes {
  static func run(_ recipes: RecipeStage) async throws {
    await recipes.check("script", prints: ["ann"]) { try await script() }
    await recipes.check("clock", prints: ["[20.0 seconds]"]) { try await clock() }
  }

  private static func script() async throws {
    // sample: script
    let ann: ScriptedTransport.Step = .respond(status: 200, body: #"{"id":1,"name":"ann"}"#)
    let transport = ScriptedTransport([.expect(method: .get, path: "/people/1", then: ann)])
    let configuration = StackConfiguration(baseURL: "https://api.example.org")
    let api = TransportNetworkStack(transport: transport, configuration: configuration)
    print(try await api.fetch(.get("/people/1", as: Person.self)).value.name)
    try transport.verify()  // every step was taken, and nothing else was sent
    // end
  }

  private static func clock() async throws {
    // sample: clock
    let clock = ManualClock(autoAdvance: true)
    var configuration = StackConfiguration(baseURL: "https://api.example.org")
    configuration.timeSource = clock.timeSource
    configuration.interceptors = [.retry(.backoff(.constant(delay: .seconds(20), until: .maxRetries(1))))]
    let transport = ScriptedTransport([.respond(status: 503), .respond(status: 200)])
    let api = TransportNetworkStack(transport: transport, configuration: configuration)
    _ = try await api.fetch(.text("/"))
    print(clock.sleeps)  // no time has passed
    // end
  }
}
