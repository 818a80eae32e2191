// SPDX-License-Identifier: Apache-2.0

import FoundationEssentials
import HTTPTypes
import Lastro
import Testing

@Suite("Redaction")
struct RedactionTests {
  @Test(
    "Secrets in URLs are masked",
    arguments: [
      ("https://h/p", "https://h/p"), ("https://h/p?a=1&token=x&b=2", "https://h/p?a=1&token=***&b=2"),
      ("https://h/?access_token=x#id_token=y&a=1", "https://h/?access_token=***#id_token=***&a=1"),
      ("https://h/?KEY=x&Api-Key=y&code=z&sig=&passWord", "https://h/?KEY=***&Api-Key=***&code=***&sig=***&passWord"),
      ("https://h/?a=1;secret=x=y?z", "https://h/?a=1;secret=***?z"),
      ("https://h/?acc%65ss%5Ftoken=x", "https://h/?acc%65ss%5Ftoken=***"),
      (
        "https://h/?X-Amz-Signature=x&X-Amz-Credential=y&X-Amz-Date=z",
        "https://h/?X-Amz-Signature=***&X-Amz-Credential=***&X-Amz-Date=z"
      ),
      ("https://u:p@h/?a=b@c", "https://***@h/?a=b@c"), ("https://u:p@x@h/", "https://***@h/"),
      ("https://tok@h", "https://***@h"),
      ("https://h/a@b", "https://h/a@b"), ("https://h/?monkey=x&keyboard=y", "https://h/?monkey=x&keyboard=y"),
    ])
  func urls(url: String, masked: String) {
    #expect(Redaction.standard.url(url) == masked)
  }

  @Test(
    "Secrets in text are masked in many notations",
    arguments: [
      (#"{"user":"ann","password":"x","n":1}"#, #"{"user":"ann","password":"***","n":1}"#),
      (#"{"token" : "a\"b\\", "b": 2}"#, #"{"token" : "***", "b": 2}"#), (#"{"pin":1234}"#, #"{"pin":***}"#),
      (#"{"tokens":["a",["b"],"]"],"n":1}"#, #"{"tokens":***,"n":1}"#),
      (#"{"session":{"id":"a","x":{"y":"}"}},"n":1}"#, #"{"session":***,"n":1}"#),
      (#"{"access_token":"cut off he"#, #"{"access_token":"***"#),
      (#"{"code":"not_found","key":"x"}"#, #"{"code":"not_found","key":"***"}"#),
      ("grant_type=code&code=x&client_secret=y&a=b", "grant_type=code&code=***&client_secret=***&a=b"),
      ("Authorization: Basic eDp5\r\nAccept: */*", "Authorization: ***\r\nAccept: */*"),
      ("sent Bearer abc.def to h", "sent Bearer ***"),
      ("see https://u:p@h/x and http://t@h2", "see https://***@h/x and http://***@h2"),
      ("Vary: Authorization, Cookie", "Vary: Authorization, Cookie"),
      (
        "Error Domain=NSXMLParserErrorDomain Code=111 \"(null)\"",
        "Error Domain=NSXMLParserErrorDomain Code=111 \"(null)\""
      ),
      ("Error Domain=NSCocoaErrorDomain Code=-3840", "Error Domain=NSCocoaErrorDomain Code=-3840"),
      ("Error Domain=NSCocoaErrorDomain Code=swordfish", "Error Domain=NSCocoaErrorDomain Code=***"),
      ("Error Domain=NSCocoaErrorDomain Code=1234567", "Error Domain=NSCocoaErrorDomain Code=***"),
      ("Domain=NSCocoaErrorDomain Code=3840", "Domain=NSCocoaErrorDomain Code=***"), ("Code=111", "Code=***"),
      ("no secret here, no token either", "no secret here, no token either"), ("", ""), ("token=", "token="),
      (#"{"a":"b@c"}"#, #"{"a":"b@c"}"#),
      (#"{'password': 'x', 'a': 'b'}"#, #"{'password': '***', 'a': 'b'}"#),
    ])
  func text(text: String, masked: String) {
    #expect(Redaction.standard.text(text) == masked)
  }

  @Test(
    "Secrets in header fields are masked",
    arguments: [
      ("Authorization", "Bearer x", "***"), ("proxy-authorization", "x", "***"), ("Cookie", "a=b", "***"),
      ("Set-Cookie", "a=b; Secure", "***"),
      ("X-Api-Key", "x", "***"), ("X-Amz-Security-Token", "x", "***"), ("X-Session", "x", "***"),
      ("Accept", "*/*", "*/*"),
      ("Idempotency-Key", "x", "x"), ("Location", "https://u:p@h/?token=x&a=1", "https://***@h/?token=***&a=1"),
      ("WWW-Authenticate", #"Bearer realm="r", error="invalid_token""#, #"Bearer realm="r", error="invalid_token""#),
      ("Link", "<https://h/?page=2&sig=x>; rel=next", "<https://h/?page=2&sig=***; rel=next"),
      ("DPoP", "x", "***"), ("Fastly-Key", "x", "***"), ("X-GitHub-OTP", "x", "***"), ("X-User-Auth", "x", "***"),
      ("X-CSRF", "x", "***"), ("X-Shopify-Hmac-Sha256", "x", "***"), ("Authentication", "x", "***"),
      ("Sec-WebSocket-Key", "x", "x"), ("X-Cache-Key", "x", "x"), ("Surrogate-Key", "x", "x"), ("X-Monkey", "x", "x"),
    ])
  func header(name: String, value: String, masked: String) throws {
    let field = HTTPField(name: try #require(HTTPField.Name(name)), value: value)
    #expect(Redaction.standard.value(of: field) == masked)
  }

  @Test(
    "The parameter names of well-known services are masked",
    arguments: ["X-Auth-Key", "Ocp-Apim-Subscription-Key", "X-Functions-Key", "X-Auth", "X-Auth-Token", "X-Access-Key"])
  func knownHeaders(name: String) throws {
    #expect(Redaction.standard.isSecret(try #require(HTTPField.Name(name))))
    #expect(Redaction.standard.url("https://h/?\(name)=x") == "https://h/?\(name)=***")
  }

  @Test("Names that are secret in forms, but not in JSON, are masked in forms")
  func knownItems() {
    #expect(
      Redaction.standard.text("code_verifier=x&device_code=y&pass=z&passed=1&a=b")
        == "code_verifier=***&device_code=***&pass=***&passed=1&a=b")
    #expect(Redaction.standard.text(#"{"device_code":"x","pass":3}"#) == #"{"device_code":"***","pass":3}"#)
  }

  @Test("Names listed in a request's options are masked")
  func options() throws {
    var options = RequestOptions()
    let name = try #require(HTTPField.Name("X-Patient"))
    options.sensitiveHeaders = [name]
    options.sensitiveQueryItems = ["Birth-Day"]
    let redaction = Redaction.standard.adding(options)
    #expect(redaction.isSecret(name))
    #expect(redaction.url("http://h/?birthday=x&token=y&a=1") == "http://h/?birthday=***&token=***&a=1")
    #expect(redaction.text(#"{"birth_day":"x"}"#) == #"{"birth_day":"***"}"#)
    #expect(!Redaction.standard.isSecret(name))
  }

  @Test("With redaction off user information in URLs is still hidden")
  func off() {
    #expect(Redaction.off.url("https://u:p@h/?token=x") == "https://***@h/?token=x")
    #expect(Redaction.off.text(#"{"token":"x"}"#) == #"{"token":"x"}"#)
  }

  @Test(
    "Delimiters, brackets and line ends in values do not end the masking early",
    arguments: [
      (#"{"password":" S,S"}"#, #"{"password":"***"}"#), (#"{"password":"=S,S"}"#, #"{"password":"***"}"#),
      (#"{"password":":\" S,S","a":1}"#, #"{"password":"***","a":1}"#),
      (#"{'password':' S,S','a':1}"#, #"{'password':'***','a':1}"#), (#""password"=>"S,S""#, #""password"=>"***""#),
      (#"{"tokens":["a]S","S"],"a":1}"#, #"{"tokens":***,"a":1}"#),
      (#"{"tokens":{"github":"S","x":["}",{"y":"S"}]},"a":1}"#, #"{"tokens":***,"a":1}"#),
      (#"{'tokens':['a]S','S'],'a':1}"#, #"{'tokens':***,'a':1}"#),
      ("{\"token\":\r\n \"S\"}", "{\"token\":\r\n \"***\"}"), ("token\r\n:\r\n\tS;a", "token\r\n:\r\n\t***;a"),
      ("Cookie: a=S; sid=S\r\nA: b", "Cookie: ***\r\nA: b"), ("Set-Cookie: a=S, b=S\nA: b", "Set-Cookie: ***\nA: b"),
      (#"Authorization: Digest u="S", response="S""#, "Authorization: ***"),
      ("cookie=a;sid=S&b=c", "cookie=***&b=c"),
      (
        #"{"sig":"S","jwt":"S","otp":"S","auth":"S","access_key":"S","key":"S","a":1}"#,
        #"{"sig":"***","jwt":"***","otp":"***","auth":"***","access_key":"***","key":"***","a":1}"#
      ),
      ("token:\u{301}S,a", "token:***,a"), ("password=S\u{301}&a=b", "password=***&a=b"),
      (#"{"password":"S\"#, #"{"password":"***"#),
    ])
  func noWayOut(text: String, masked: String) {
    let result = Redaction.standard.text(text)
    #expect(result == masked)
    #expect(!result.utf8.contains(UInt8(ascii: "S")) || text.hasPrefix("Set-Cookie"))
  }
}
