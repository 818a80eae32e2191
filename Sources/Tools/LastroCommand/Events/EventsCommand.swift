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
    try validateFlags()
    if reconnect, noReconnect { throw ValidationError("--reconnect and --no-reconnect exclude each other.") }
    if let count, count < 1 { throw ValidationError("--count \(count) is out of range; give 1 or more.") }
  }

  func run() async throws {
    let specification = try Console.checked { try self.specification(url: url) }
    WriteDeadline.set(seconds: specification.timeout)
    let judge = try Console.checked { try pins.judge() }
    let engine = try Console.checked { try CurlTransport(self.engine(judge, for: specification)) }
    var failure: HTTPFetchError<any Error>?
    do {
      let stack = try Console.checked { try self.stack(on: engine) }
      failure = try await print(events(of: try resource(specification), on: stack))
    } catch let error as TransportError {
      failure = HTTPFetchError(.noRequest(error))
    } catch let error as ResponseOutput.WriteFailure {
      await judge?.flushReports()
      throw error
    }
    await engine.shutDown(cancelling: true)
    await judge?.flushReports()
    guard let failure else { return }
    var told = Report.Failure(failure)
    told.hint = way.hint(of: told)
    Console.tell(told, trust: failure.trustFailure, ledger: failure.ledger, body: failure.bodySnippet)
    throw ExitStatus.of(failure.stage)
  }

  private func resource(_ specification: RequestSpecification) throws -> RawHTTPResource {
    .raw(
      try Console.checked { try specification.request() },
      interceptors: try Console.checked { try specification.interceptors() })
  }

  private func events(
    of resource: RawHTTPResource, on stack: TransportNetworkStack
  ) -> EventStream<ServerSentEvent, any Error> {
    stack.events(
      resource, lastEventID: lastEventID, maximumReconnections: noReconnect ? 0 : reconnect ? 20 : nil)
  }

  /// Prints events until they end. Returns the failure that ended them, if any.
  private func print(
    _ events: EventStream<ServerSentEvent, any Error>
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
      try Console.out(["data": event.data, "event": event.name, "id": event.lastEventID].jsonLine)
      left -= 1
    }
    return nil
  }
}
