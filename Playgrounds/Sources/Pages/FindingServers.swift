// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroCurl
import LastroEveryday
import LastroFleet
import LastroResilience
import LastroTesting

private func first() async throws -> CurlNetworkStack {
  // sample: first
  let names = try StubResolver(dialer: CurlNetworkStack().dialer)
  let pods = try await EndpointSet(following: .addresses(of: "https://notes.internal", by: names))
  var configuration = StackConfiguration()
  configuration.resilience = Resilience(endpoints: pods)
  let stack = try CurlNetworkStack(configuration: configuration)
  // end
  return stack
}

private func sequence() async throws -> EndpointSet {
  // sample: sequence
  let (lists, feed) = AsyncStream.makeStream(of: [String].self)
  feed.yield(["10.0.0.7:8443", "10.0.0.8:8443"])
  let pods = try await EndpointSet(following: EndpointSource(of: "https://notes.internal", addresses: lists))
  // end
  return pods
}

private func services(_ stack: CurlNetworkStack) async throws -> Data {
  // sample: services
  let names = try StubResolver(dialer: CurlNetworkStack().dialer)
  let servers = try await EndpointSet(following: .services("_https._tcp.notes.internal", by: names))
  let notes = try await servers.withEndpoint { origin in
    try await stack.fetch(.raw(try ResourceRequest(url: "\(origin)/notes"))).value
  }
  // end
  return notes
}

private func changes(_ transport: ScriptedTransport) async throws {
  // sample: changes
  let (lists, feed) = AsyncStream.makeStream(of: [String].self)
  feed.yield(["192.0.2.7"])
  let pods = try await EndpointSet(following: EndpointSource(of: "https://notes.internal", addresses: lists))
  var configuration = StackConfiguration()
  configuration.resilience = Resilience(endpoints: pods)
  let stack = TransportNetworkStack(transport: transport, configuration: configuration)
  let answer = try await stack.fetch(.raw(try ResourceRequest(url: "https://notes.internal/")))
  print(answer.response.facts.notes.map(\.text).joined())
  // end
}

private func subset(_ names: StubResolver, ordinal: Int) async throws -> EndpointSet {
  // sample: subset
  let source = try EndpointSource.addresses(of: "https://notes.internal", by: names).subset(of: 20, instance: ordinal)
  let pods = try await EndpointSet(following: source)
  // end
  return pods
}

extension Page {
  static let findingServers = Page("FindingServers") { stage in
    // They need the DNS of a service, so they are only compiled.
    _ = (first, services, subset)
    _ = try await sequence()
    try await stage.prints("changes") {
      try await changes(ScriptedTransport([.respond(status: 200, body: "[]")]))
    }
  }
}
