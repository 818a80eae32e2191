// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
import LastroEveryday

struct ExplainCommand: FetchingCommand {
  static let configuration = CommandConfiguration(
    commandName: "explain", abstract: "Describes what fetching a URL would do, without using the network.",
    discussion:
      "Takes the flags of fetch. Prints the limits, the proxy, the trust rules, and which failures would be retried.")

  @Argument(help: "URL, http or https.")
  var url: String
  @OptionGroup var request: RequestFlags
  @OptionGroup var body: BodyFlags
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var identity: IdentityFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var way: ViaFlags
  @OptionGroup var cached: CacheFlags
  @Flag(name: .customLong("report"), help: "Print one JSON object instead of text.")
  var reports = false
  @OptionGroup var accepted: AcceptedFlags

  func validate() throws { try validateFlags() }

  func run() async throws {
    let specification = try Console.checked { try self.specification(url: url) }
    let judge = try Console.checked { try pins.judge() }
    let explanation: FetchExplanation
    do {
      let resource = RawHTTPResource.raw(
        try Console.checked { try specification.request() },
        interceptors: try Console.checked { try specification.interceptors() })
      var configuration = StackConfiguration()
      configuration.cache = cached.explainedCache(over: wayOfTransport(for: specification))
      let stack = try Console.checked {
        try self.stack(on: CurlTransport(engine(judge, for: specification)), configuration: configuration)
      }
      explanation = await stack.explanation(of: resource, asStream: true)
    } catch let error as TransportError {
      Console.tell(.init(error))
      throw ExitStatus.of(error.stage)
    }
    try Console.out(reports ? explanation.jsonLine : HintWords.text(explanation.description))
    if explanation.refusal != nil { throw ExitStatus.of(.request) }
  }
}
