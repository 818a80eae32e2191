// SPDX-License-Identifier: Apache-2.0

import GRPCCore
import GRPCNIOTransportHTTP2Posix
import Lastro
import LastroCurl
import LastroGRPC
import Testing

/// A server of another project, with the tests' service.
enum EchoPeer: String, CaseIterable, Sendable, CustomTestStringConvertible {
  case nio = "grpc-swift over NIO"
  case python = "Python's grpcio"

  var testDescription: String { rawValue }

  /// Starts the server for a closure, which gets its port.
  func serve<Result: Sendable>(
    _ service: EchoService = EchoService(), configure: (inout HTTP2ServerTransport.Posix.Config) -> Void = { _ in },
    _ body: (Int) async throws -> Result
  ) async throws -> Result {
    switch self {
    case .python:
      let server = try PythonServer()
      defer { withExtendedLifetime(server) {} }
      return try await body(server.port)
    case .nio:
      let config = HTTP2ServerTransport.Posix.Config.defaults {
        $0.rpc.maxRequestPayloadSize = 64 << 20
        configure(&$0)
      }
      let transport = HTTP2ServerTransport.Posix(
        address: .ipv4(host: "127.0.0.1", port: 0), transportSecurity: .plaintext, config: config)
      return try await withGRPCServer(transport: transport, services: [service]) { _ in
        try await body(try await transport.listeningAddress.ipv4?.port ?? 0)
      }
    }
  }
}

/// Calls the tests' service.
struct EchoClient<Transport: ClientTransport>: Sendable {
  let client: GRPCClient<Transport>

  func unary(
    _ message: [UInt8], to method: String = "Unary", metadata: Metadata = [:], options: CallOptions = .defaults,
    type: MethodDescriptor.RPCType? = .unary
  ) async throws -> ClientResponse<[UInt8]> {
    try await client.unary(
      request: ClientRequest(message: message, metadata: metadata), descriptor: EchoMethod.descriptor(method, type),
      serializer: BytesSerializer(), deserializer: BytesDeserializer(), options: options
    ) { $0 }
  }

  func collect(
    _ produce: @escaping @Sendable (RPCWriter<[UInt8]>) async throws -> Void, to method: String = "Collect",
    options: CallOptions = .defaults
  ) async throws -> [UInt8] {
    try await client.clientStreaming(
      request: StreamingClientRequest(producer: produce),
      descriptor: EchoMethod.descriptor(method, .clientStreaming),
      serializer: BytesSerializer(), deserializer: BytesDeserializer(), options: options
    ) { try $0.message }
  }

  func expand<Result: Sendable>(
    _ message: [UInt8], to method: String = "Expand", options: CallOptions = .defaults,
    _ handle: @escaping @Sendable (RPCAsyncSequence<[UInt8], any Error>) async throws -> Result
  ) async throws -> Result {
    try await client.serverStreaming(
      request: ClientRequest(message: message), descriptor: EchoMethod.descriptor(method, .serverStreaming),
      serializer: BytesSerializer(), deserializer: BytesDeserializer(), options: options
    ) { try await handle($0.messages) }
  }

  func chat<Result: Sendable>(
    to method: String = "Chat", options: CallOptions = .defaults,
    _ produce: @escaping @Sendable (RPCWriter<[UInt8]>) async throws -> Void,
    _ handle: @escaping @Sendable (RPCAsyncSequence<[UInt8], any Error>) async throws -> Result
  ) async throws -> Result {
    try await client.bidirectionalStreaming(
      request: StreamingClientRequest(producer: produce),
      descriptor: EchoMethod.descriptor(method, .bidirectionalStreaming),
      serializer: BytesSerializer(), deserializer: BytesDeserializer(), options: options
    ) { try await handle($0.messages) }
  }
}

/// Runs a closure with a client over a transport.
func withEcho<Transport: ClientTransport, Result: Sendable>(
  _ transport: Transport, _ body: (EchoClient<Transport>) async throws -> Result
) async throws -> Result {
  try await withGRPCClient(transport: transport) { try await body(EchoClient(client: $0)) }
}

/// Returns a stack that speaks HTTP/2 without TLS, too.
func stack(
  _ configuration: StackConfiguration = StackConfiguration(), _ edit: (inout CurlConfiguration) -> Void = { _ in }
) throws -> CurlNetworkStack {
  var engine = CurlConfiguration()
  engine.connection.httpVersion = .http2
  engine.connection.proxy = .none
  edit(&engine)
  return try CurlNetworkStack(engine, configuration: configuration)
}

/// Returns a transport over a stack.
func transport(
  _ url: String, _ stack: CurlNetworkStack, serviceConfig: ServiceConfig = ServiceConfig(),
  options: RequestOptions = RequestOptions()
) throws -> LastroGRPCTransport {
  try LastroGRPCTransport(url, serviceConfig: serviceConfig, options: options) {
    try await stack.exchange($0, streamed: $1)
  }
}

/// Runs a closure with a client of a server of another project.
func withEcho<Result: Sendable>(
  _ peer: EchoPeer, serviceConfig: ServiceConfig = ServiceConfig(),
  _ body: (EchoClient<LastroGRPCTransport>) async throws -> Result
) async throws -> Result {
  try await peer.serve { port in
    let transport = try transport("http://127.0.0.1:\(port)", try stack(), serviceConfig: serviceConfig)
    return try await withEcho(transport, body)
  }
}
