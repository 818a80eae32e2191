// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Lastro
import LastroCurl
internal import LastroWebSocket

/// The engine of one command, from the flags to the exit status.
struct CommandSession {
  let dialer: any Dialer
  private let transport: CurlTransport
  private let judge: PinJudge?

  /// Creates the engine and the dialer that the flags of a command describe.
  ///
  /// - Parameter presentsIdentity: whether the client certificate of the flags is presented to a server that requests
  ///   one.
  /// - Throws: the exit status of stage `request` for invalid flags, after printing the error.
  init(_ command: some StreamingCommand, presentsIdentity: Bool = true) throws {
    let judge = try Console.checked { try command.pins.judge() }
    var configuration = CurlConfiguration()
    configuration.connection = try Console.checked { try command.connectionOptions() }
    configuration.connection.tls.trustJudge = judge
    if !presentsIdentity { configuration.connection.tls.identity = nil }
    let transport = try Console.checked { [configuration] in try CurlTransport(configuration) }
    self.judge = judge
    self.transport = transport
    dialer = try Console.checked { try command.dialer(on: transport) }
  }

  /// Runs the command's work, and shuts the engine down. Prints a failure, and throws the exit status of its stage.
  func run(_ work: (any Dialer) async throws -> Void) async throws {
    do {
      try await work(dialer)
      await shutDown()
    } catch {
      await shutDown()
      throw Self.told(error)
    }
  }

  func shutDown() async {
    await transport.shutDown(cancelling: true)
    await judge?.flushReports()
  }

  /// Prints a failure, and returns the error to exit with.
  static func told(_ error: any Error) -> any Error {
    switch error {
    case let error as TransportError:
      Console.tell(.init(error), trust: error.trustFailure)
      return ExitStatus.of(error.stage)
    case let error as WebSocketError:
      let handshake: HTTPFetchError<any Error>? =
        if case .handshake(let failure) = error.reason { failure } else { nil }
      Console.tell(
        .init(error.stage, error.code, error.message, hint: error.hint), trust: handshake?.trustFailure,
        ledger: handshake?.ledger, body: handshake?.bodySnippet)
      return ExitStatus.of(error.stage)
    default: return error
    }
  }
}
