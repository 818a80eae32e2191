// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import Lastro
import LastroStreamsTesting
import LastroTesting
import LastroTransports
import LastroWebSocket

private func scripted() async throws {
  // sample: memory
  let dialer = MemoryDialer { _, server in
    guard let question = try await server.read() else { return }
    try await server.write(Data("you said ".utf8) + question)
    try await server.finishWriting()
  }
  let stream = try await dialer.dial(DialRequest(host: "echo.example.org", port: 7))
  try await stream.write(Data("hello".utf8))
  var answer = Data()
  while let piece = try await stream.read() { answer += piece }
  print(String(decoding: answer, as: UTF8.self))
  // end
}

private func broken() async throws {
  // sample: fault
  let record = EventRecorder<LoopbackWebSocketEvent>()
  var behavior = LoopbackWebSocketBehavior()
  behavior.greeting = [.text("hello"), .bytes([0x83, 0x00])]  // opcode 3 is reserved
  let client = WebSocketClient(dialer: LoopbackWebSocketServer.dialer(record: record, behavior))

  let socket = try await client.connect("ws://chat.example.org/room")
  do {
    for try await message in socket.messages { print(message) }
  } catch {
    print(error.stage, error.code)
  }
  // end
}

private func promises(_ dialer: any Dialer) async throws {
  // sample: conformance
  let factory = NetworkConnectionFactory(to: .hostPort(host: "echo.example.org", port: 7), dialer: dialer)
  let findings = await ConnectionConformance(of: factory).findings()
  print(findings.isEmpty)
  // end
}

extension Page {
  static let testingStreams = Page("TestingStreams") { stage in
    try await stage.prints("memory") { try await scripted() }
    try await stage.prints("fault") { try await broken() }
    let echo = MemoryDialer { _, stream in try await ConnectionConformance.echo(stream) }
    try await stage.prints("conformance") { try await promises(echo) }
  }
}
