// SPDX-License-Identifier: Apache-2.0

/// The pages and programs that can be run.
enum Pages {
  static let all: [Page] = [
    .lastro, .gettingStarted, .recipes,
    .resources, .interceptors, .retrying, .authentication, .signing, .signedRequests, .usingS3, .secrets, .deadlines,
    .codings,
    .errors, .replayingCalls,
    .observing, .testing, .cassettes, .streaming, .bytesAndCallbacks, .pinning, .tls, .dialing, .tunnels,
    .hidingTraffic,
    .httpOverDialers, .keepingUp, .keepingCookies, .resolvingNames, .forms, .pagesAndOperations, .problemsAndChanges,
    .loggingIn,
    .eventStreams, .caching,
    .downloads, .uploads,
    .runningInAService, .callingAnLLM, .fetchingWhatUsersName, .migrating,
    .transports, .webSockets, .gemini, .engine, .chains, .testingStreams, .simulating, .runningManyInstances,
    .findingServers,
    .comingFromOtherClients,
    .comingFromAlicerce,
  ]

  static func run(_ arguments: [String]) async -> Int32 {
    switch arguments.first {
    case "chat": return await Chat.run(Array(arguments.dropFirst()))
    case "browse": return await Browser.run(Array(arguments.dropFirst()))
    default: break
    }
    let names = Set(arguments.filter { $0 != "--update" }.map { $0.lowercased() })
    let chosen = names.isEmpty ? all : all.filter { names.contains($0.name.lowercased()) }
    guard chosen.count >= names.count else {
      say("usage: Pages [--update] [page …], or Pages chat URL [NAME], browse [URL]")
      say("Pages: " + all.map(\.name).joined(separator: ", "))
      return 64
    }
    var problems = missingPages().map { "\($0): the guide has no page" }
    for page in chosen {
      say("\n=== \(page.name)")
      problems += await page.run(updating: arguments.contains("--update")).map { "\(page.name): \($0)" }
    }
    say("")
    for problem in problems { say("✗ \(problem)") }
    say(
      problems.isEmpty ? "\(chosen.count) pages hold what their guides say." : "\(problems.count) claims do not hold.")
    return problems.isEmpty ? 0 : 1
  }

  /// Returns the names of guides that no page runs.
  private static func missingPages() -> [String] {
    Guide.names.filter { name in !all.contains { $0.name == name } }
  }
}
