// SPDX-License-Identifier: Apache-2.0

// Reads frames as Go's standard library reads them: `gopeer heads|cookies|multipart`.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime/multipart"
	"net/http"
	"net/textproto"
	"os"
	"sort"
	"strconv"
	"strings"
	"unicode/utf8"
)

type object = map[string]any

// latin returns a character for each byte, so that JSON carries any bytes.
func latin(bytes []byte) string {
	runes := make([]rune, len(bytes))
	for i, b := range bytes {
		runes[i] = rune(b)
	}
	return string(runes)
}

// text returns bytes as Lastro reads a field's value: UTF-8, or else ISO 8859-1.
func text(value string) string {
	if utf8.ValidString(value) {
		return latin([]byte(value))
	}
	return latin([]byte(latin([]byte(value))))
}

func fields(header map[string][]string) [][2]string {
	names, result := []string{}, [][2]string{}
	for name := range header {
		names = append(names, name)
	}
	sort.Strings(names)
	for _, name := range names {
		for _, value := range header[name] {
			result = append(result, [2]string{strings.ToLower(text(name)), text(value)})
		}
	}
	return result
}

// response reads as http.Transport does, which passes over interim responses.
func response(method string, data []byte) (object, error) {
	source := bytes.NewReader(data)
	reader := bufio.NewReaderSize(source, 1<<19)
	request := &http.Request{Method: method}
	for interim := 0; ; interim++ {
		head, err := http.ReadResponse(reader, request)
		if err != nil {
			return nil, err
		}
		if head.StatusCode >= 100 && head.StatusCode < 200 && head.StatusCode != 101 {
			if interim == 5 {
				return nil, errors.New("too many 1xx informational responses")
			}
			continue
		}
		body, err := io.ReadAll(head.Body)
		if err != nil {
			return nil, err
		}
		reason := strings.TrimPrefix(strings.TrimPrefix(head.Status, strconv.Itoa(head.StatusCode)), " ")
		return object{
			"version": fmt.Sprintf("%d.%d", head.ProtoMajor, head.ProtoMinor), "status": head.StatusCode,
			"reason": text(reason), "fields": fields(head.Header), "body": latin(body), "trailers": fields(head.Trailer),
			"rest": reader.Buffered() + source.Len(), "keeps": !head.Close,
		}, nil
	}
}

func cookie(_ string, data []byte) (object, error) {
	cookies := (&http.Response{Header: http.Header{"Set-Cookie": {string(data)}}}).Cookies()
	if len(cookies) == 0 {
		return nil, errors.New("no cookie")
	}
	c := cookies[0]
	result := object{
		"name": latin([]byte(c.Name)), "value": latin([]byte(c.Value)), "expires": nil, "age": nil, "domain": nil,
		"path": nil, "secure": c.Secure, "httponly": c.HttpOnly, "samesite": nil,
	}
	if !c.Expires.IsZero() {
		result["expires"] = c.Expires.Unix()
	}
	if c.MaxAge != 0 {
		result["age"] = max(0, c.MaxAge)
	}
	if c.Domain != "" {
		result["domain"] = latin([]byte(strings.TrimPrefix(c.Domain, ".")))
	}
	// Its jar takes no other path.
	if strings.HasPrefix(c.Path, "/") {
		result["path"] = latin([]byte(c.Path))
	}
	modes := map[http.SameSite]string{
		http.SameSiteLaxMode: "lax", http.SameSiteStrictMode: "strict", http.SameSiteNoneMode: "none",
	}
	if mode, known := modes[c.SameSite]; known {
		result["samesite"] = mode
	}
	return result, nil
}

func max(a, b int) int {
	if a > b {
		return a
	}
	return b
}

func parts(boundary string, data []byte) (object, error) {
	reader := multipart.NewReader(bytes.NewReader(data), boundary)
	parts := [][2]any{}
	for {
		part, err := reader.NextRawPart()
		if err == io.EOF {
			return object{"parts": parts}, nil
		}
		if err != nil {
			return nil, err
		}
		body, err := io.ReadAll(part)
		if err != nil {
			return nil, err
		}
		parts = append(parts, [2]any{fields(textproto.MIMEHeader(part.Header)), latin(body)})
	}
}

func main() {
	readers := map[string]func(string, []byte) (object, error){"heads": response, "cookies": cookie, "multipart": parts}
	read := readers[os.Args[1]]
	input := bufio.NewReader(os.Stdin)
	output := bufio.NewWriter(os.Stdout)
	encoder := json.NewEncoder(output)
	encoder.SetEscapeHTML(false)
	for {
		line, err := input.ReadString('\n')
		if err != nil {
			break
		}
		words := strings.Fields(line)
		length, _ := strconv.Atoi(words[1])
		data := make([]byte, length)
		if _, err := io.ReadFull(input, data); err != nil {
			panic(err)
		}
		result, err := read(words[0], data)
		if err != nil {
			result = object{"no": latin([]byte(err.Error()))}
		}
		if err := encoder.Encode(result); err != nil {
			panic(err)
		}
	}
	output.Flush()
}
