// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
import LastroEveryday

struct EventsCommand: FetchingCommand {
  static let configuration = CommandConfiguration(
    commandName: "events",
    abstract: "Prints the server-sent events of a URL, one JSON object per line.",
    discussion: """
      Takes the flags of fetch; --retries and --backoff apply to each connection, --timeout to all of them together. The \
      objects have the keys data, event and id. A GET connects again after a lost connection until the server responds \
      with 204; the server may set the wait. A request with another method is sent once.

      EXIT STATUS: 0 when the events ended, else as of fetch.
      """)

  @Argument(help: "URL, http or https.")
  var url: String
  @OptionGroup var request: RequestFlags
  @OptionGroup var body: BodyFlags
  @OptionGroup var connection: ConnectionFlags
  @OptionGroup var identity: IdentityFlags
  @OptionGroup var pins: PinFlags
  @OptionGroup var way: ViaFlags
  @Option(name: .customLong("last-event-id"), help: "Identifier of the event to resume after.")
  var lastEventID = ""
  @Flag(name: .customLong("no-reconnect"), help: "End when the connection ends.")
  var noReconnect = false
  @Flag(
    name: .customLong("reconnect"), help: "Reconnect after a lost connection whatever the method: a POST is sent again."
  )
  var reconnect = false
  @Option(help: "Number of events to end after.")
  var count: Int?
  @OptionGroup var accepted: AcceptedFlags

  func validate() throws {
    try flags.validate()
    if reconnect, noReconnect { throw ValidationError("--reconnect and --no-reconnect exclude each other.") }
    if let count, count < 1 { throw ValidationError("--count \(count) is out of range; give 1 or more.") }
  }

  func run() async throws {
    let specification = try Console.checked { try flags.specification(url: url) }
    WriteDeadline.set(seconds: specification.timeout)
    let judge = try Console.checked { try pins.judge() }
    let engine = try Console.checked { try CurlTransport(flags.engine(judge, for: specification)) }
    var failure: HTTPFetchError<any Error>?
    do {
      let stack = try Console.checked { try flags.stack(on: engine) }
      failure = try await print(events(of: try resource(specification), on: stack))
    } catch let error as TransportError {
      failure = HTTPFetchError(.noRequest(error))
    } catch let error as ResponseOutput.WriteFailure {
      await judge?.finish()
      throw Console.give(up: error)
    }
    await engine.shutDown(cancelling: true)
    await judge?.finish()
    guard let failure else { return }
    let told = Report.Failure(failure.stage, failure.code, failure.message)
    Console.tell(
      told, hint: way.hint(failure.hint, of: told), trust: failure.trustFailure,
      ledger: failure.ledger, body: failure.bodySnippet)
    throw ExitStatus.of(failure.stage)
  }

  private func resource(_ specification: RequestSpecification) throws -> RawHTTPResource {
    .raw(
      try Console.checked { try specification.request() },
      interceptors: try Console.checked { try specification.interceptors() })
  }

  private func events(of resource: RawHTTPResource, on stack: TransportNetworkStack) -> EventStream<any Error> {
    var options = EventStreamOptions()
    options.lastEventID = lastEventID
    options.reconnection = noReconnect ? .never : reconnect ? .always(failures: 20) : .byMethod
    return stack.events(resource, options: options)
  }

  /// Prints events until they end. Returns the failure that ended them, if any.
  private func print(
    _ events: EventStream<any Error>
  ) async throws(ResponseOutput.WriteFailure) -> HTTPFetchError<any Error>? {
    var iterator = events.makeAsyncIterator()
    var left = count ?? .max
    while left > 0 {
      let event: ServerSentEvent
      do throws(HTTPFetchError<any Error>) {
        guard let next = try await iterator.next() else { return nil }
        event = next
      } catch {
        return error
      }
      try Console.out(EventLine(event).text)
      left -= 1
    }
    return nil
  }
}
